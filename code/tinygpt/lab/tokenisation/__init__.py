"""The exercises of the chapter Tokenisation."""

from tinygpt import tokenizers
from tinygpt.lab.definitions import Chapter, Exercise
from tinygpt.lab.tokenisation import checks, checks_drawn, checks_text, solutions, stubs
from tinygpt.lab.tokenisation.mistakes import (
    count_pairs,
    decode_tokens,
    learn_merges,
    merge_by_rank,
    merge_pair,
    split_special,
)

CHAPTER = Chapter(
    name="tokenisation",
    title="Tokenisation",
    stubs=stubs,
    exercises=(
        Exercise(
            name="count_pairs",
            symbol="count_pairs",
            title="Counting pairs",
            goal="Write `count_pairs(words)`: how often each pair of neighbours stands in the "
            "words, each word as often as it occurs.",
            section="sec-tokenisation-pairs",
            section_title="Counting neighbours",
            stub=stubs.count_pairs,
            solution=tokenizers.count_pairs,
            book=tokenizers.count_pairs,
            checks=(
                checks.test_unit_count_pairs,
                checks.test_edges_count_pairs,
                checks_drawn.test_drawn_count_pairs,
            ),
            hints=(
                "`itertools.pairwise([1, 2, 3])` gives (1, 2) and (2, 3).",
                "Go through the words one by one, so that no pair reaches from one to the next.",
                "A pair counts as often as its word occurs: "
                "`counts[pair] = counts.get(pair, 0) + count`.",
            ),
            mistakes=count_pairs.MISTAKES,
        ),
        Exercise(
            name="merge_pair",
            symbol="merge_pair",
            title="Joining a pair",
            goal="Write `merge_pair(ids, pair, new)`: each occurrence of the pair becomes one id, "
            "from the left, without overlaps.",
            section="sec-tokenisation-merge",
            section_title="Joining a pair",
            stub=stubs.merge_pair,
            solution=tokenizers.merge_pair,
            book=tokenizers.merge_pair,
            checks=(
                checks.test_unit_merge_pair,
                checks.test_edges_merge_pair,
                checks_drawn.test_drawn_merge_pair,
            ),
            hints=(
                "Walk through the list with a place of your own, `while place < len(ids)`, and "
                "build a new list.",
                "Where the pair stands append the new id and go on two places; elsewhere append "
                "the id and go on one.",
                "The last id has no right neighbour. Ask for `ids[place + 1]` only where there "
                "is one.",
            ),
            mistakes=merge_pair.MISTAKES,
        ),
        Exercise(
            name="learn_merges",
            symbol="learn_merges",
            title="Training",
            goal="Write `learn_merges(words, num_merges, first)`: join the most frequent pair "
            "into a new id, and again, and give back the pairs in order.",
            section="sec-tokenisation-train",
            section_title="Training, merge by merge",
            stub=stubs.learn_merges,
            solution=solutions.learn_merges,
            book=tokenizers.learn_merges,
            checks=(
                checks.test_unit_learn_merges,
                checks.test_ties_learn_merges,
                checks.test_edges_learn_merges,
                checks_drawn.test_drawn_learn_merges,
            ),
            hints=(
                "Count, choose, join in every word, and begin again with the joined words. Your "
                "`count_pairs` and `merge_pair` do two of the steps.",
                "The most frequent, and of equals the smallest: "
                "`min(counts, key=lambda pair: (-counts[pair], pair))`.",
                "When there is no pair left, stop early.",
            ),
            mistakes=learn_merges.MISTAKES,
        ),
        Exercise(
            name="merge_by_rank",
            symbol="merge_by_rank",
            title="Encoding",
            goal="Write `merge_by_rank(ids, ranks)`: apply the merges to a new piece, always the "
            "one that was learnt first.",
            section="sec-tokenisation-encode",
            section_title="Encoding",
            stub=stubs.merge_by_rank,
            solution=solutions.merge_by_rank,
            book=tokenizers.merge_by_rank,
            checks=(
                checks_text.test_unit_merge_by_rank,
                checks_text.test_edges_merge_by_rank,
                checks_drawn.test_drawn_merge_by_rank,
            ),
            hints=(
                "List the pairs of neighbours that are in `ranks`. When there are none, you are "
                "done.",
                "The one that was learnt first has the smallest id: `min(known, key=ranks.get)`.",
                "Join it everywhere in the piece, then look again: a merge may make a pair that "
                "is known too.",
            ),
            mistakes=merge_by_rank.MISTAKES,
        ),
        Exercise(
            name="decode_tokens",
            symbol="decode_tokens",
            title="Decoding",
            goal="Write `decode_tokens(ids, tokens)`: the text of a list of ids, whatever bytes "
            "they stand for.",
            section="sec-tokenisation-decode",
            section_title="Decoding and broken bytes",
            stub=stubs.decode_tokens,
            solution=solutions.decode_tokens,
            book=solutions.decode_tokens,
            checks=(
                checks_text.test_unit_decode_tokens,
                checks_text.test_edges_decode_tokens,
                checks_drawn.test_drawn_decode_tokens,
            ),
            hints=(
                "A character may lie in two tokens. Join the bytes of all of them first: "
                '`b"".join(…)`.',
                'Then decode once. `errors="replace"` says what becomes of bytes that are no '
                "UTF-8.",
            ),
            mistakes=decode_tokens.MISTAKES,
        ),
        Exercise(
            name="split_special",
            symbol="split_special",
            title="Special tokens",
            goal="Write `split_special(text, special_tokens)`: cut a text so that each special "
            "token stands alone, before anything else is cut.",
            section="sec-tokenisation-special",
            section_title="Special tokens",
            stub=stubs.split_special,
            solution=solutions.split_special,
            book=solutions.split_special_as_the_package,
            checks=(
                checks_text.test_unit_split_special,
                checks_text.test_edges_split_special,
                checks_drawn.test_drawn_split_special,
            ),
            hints=(
                "`re.split` with brackets around the pattern keeps what it cuts at.",
                "`re.escape(token)` makes characters such as | mean themselves.",
                "`a|b` takes the first alternative that fits, so sort the longest to the front. "
                "And leave out the empty strings.",
            ),
            mistakes=split_special.MISTAKES,
        ),
    ),
)
