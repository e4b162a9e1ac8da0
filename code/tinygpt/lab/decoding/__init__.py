"""The exercises of the chapter Decoding."""

from tinygpt import sampling
from tinygpt.lab.decoding import checks, checks_beam, checks_drawn, solutions, stubs
from tinygpt.lab.decoding.mistakes import beam_search, temperature, top_k, top_p
from tinygpt.lab.definitions import Chapter, Exercise

CHAPTER = Chapter(
    name="decoding",
    title="Decoding",
    stubs=stubs,
    exercises=(
        Exercise(
            name="temperature",
            symbol="next_token_probabilities",
            title="Temperature",
            goal="Write `next_token_probabilities(logits, temperature)`: a softmax that a "
            "temperature sharpens or flattens, with a meaning at 0.",
            section="sec-decoding-temperature",
            section_title="Temperature",
            stub=stubs.next_token_probabilities,
            solution=solutions.next_token_probabilities,
            book=sampling.next_token_probabilities,
            checks=(
                checks.test_unit_temperature,
                checks.test_zero_temperature,
                checks.test_shapes_temperature,
                checks_drawn.test_drawn_temperature,
            ),
            hints=(
                "Divide the scores by the temperature, then take `torch.softmax(..., dim=-1)`.",
                "A temperature of 0 cannot be divided by. There the highest score gets "
                "everything: `logits.argmax(dim=-1)` says where it is.",
                "`torch.nn.functional.one_hot(places, V)` turns places into rows of 0 and 1. They "
                "are integers; `.to(logits.dtype)` makes them probabilities.",
            ),
            mistakes=temperature.MISTAKES,
        ),
        Exercise(
            name="top_k",
            symbol="keep_top_k",
            title="Top-k",
            goal="Write `keep_top_k(logits, k)`: keep the k highest scores of each row and set "
            "the rest to minus infinity.",
            section="sec-decoding-top-k",
            section_title="Top-k",
            stub=stubs.keep_top_k,
            solution=sampling.keep_top_k,
            book=sampling.keep_top_k,
            checks=(
                checks.test_unit_top_k,
                checks.test_edges_top_k,
                checks.test_rows_top_k,
                checks_drawn.test_drawn_top_k,
            ),
            hints=(
                "You need to know which places to keep. "
                "`logits.argsort(dim=-1, descending=True)` lists all places, the best first.",
                "A mask of booleans with True at places: "
                "`torch.zeros_like(logits, dtype=torch.bool).scatter(-1, places, True)`.",
                "`logits.masked_fill(~mask, -math.inf)` makes a new tensor. The first k of a list "
                "are all of it when k is larger, so that needs no case of its own.",
            ),
            mistakes=top_k.MISTAKES,
        ),
        Exercise(
            name="top_p",
            symbol="keep_top_p",
            title="Top-p",
            goal="Write `keep_top_p(logits, p)`: keep the smallest set of tokens whose "
            "probability reaches p, and set the rest to minus infinity.",
            section="sec-decoding-top-p",
            section_title="Top-p",
            stub=stubs.keep_top_p,
            solution=sampling.keep_top_p,
            book=sampling.keep_top_p,
            checks=(
                checks.test_unit_top_p,
                checks.test_edges_top_p,
                checks.test_rows_top_p,
                checks_drawn.test_drawn_top_p,
            ),
            hints=(
                "Take the softmax and sort it from the likeliest down. `sort` gives two things, "
                "the values and where they came from.",
                "Which of the sorted tokens stay? Those *before* which the sum is still below p. "
                "The sum before a token is the `cumsum` less the token itself.",
                "The first sorted token always stays: `kept[..., 0] = True`. And with p = 1 "
                "all stay, also where the sum rounds to 1 early.",
                "Carry the pattern back to the unsorted tokens: "
                "`torch.zeros_like(kept).scatter(-1, order, kept)`.",
            ),
            mistakes=top_p.MISTAKES,
        ),
        Exercise(
            name="beam_search",
            symbol="beam_search",
            title="Beam search",
            goal="Write `beam_search(model, prompt, max_new_tokens, num_beams)`: at every "
            "length keep the likeliest few of the texts that lengthen those kept before.",
            section="sec-decoding-beam",
            section_title="Beam search",
            stub=stubs.beam_search,
            solution=solutions.beam_search,
            book=sampling.beam_search,
            checks=(
                checks_beam.test_unit_beam_search,
                checks_beam.test_exact_beam_search,
                checks_beam.test_work_beam_search,
                checks_drawn.test_drawn_beam_search,
            ),
            hints=(
                "Keep two tensors: the texts, (beams, T), which begin as the prompt alone, and "
                "the log probability of each, (beams,), which begins as 0.",
                "The candidates of a step are a matrix (beams, V): the total of each text, plus "
                "`log_softmax` of its scores at the last position.",
                "Flatten the candidates and take `topk`. A place i of the flattened matrix is "
                "token `i % V` after text `i // V`.",
                "There may be fewer candidates than beams. And the model reads at most "
                "`max_seq_len` tokens.",
            ),
            mistakes=beam_search.MISTAKES,
        ),
    ),
)
