"""Byte-level BPE against Hugging Face's `tokenizers`, and what holds for every text."""

import json
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tinygpt.tokenizers import ByteBPE, learn_merges, merge_by_rank, merge_pair, visible
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

SPECIAL = "<|endoftext|>"
# Any text that UTF-8 can hold, with more of what the pattern is about than chance would give.
texts = st.one_of(
    st.text(),
    st.text(alphabet="aab 's're'll12½\n\t\r\u00a0\u2003é漢字ाि👩\u200d🚀\u0301Å_.,-"),
)


def oracle(chunks, vocab_size, special_tokens=()):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(chunks, trainer)
    return tokenizer


def assert_alike(ours, theirs, text):
    theirs_merges = [tuple(pair) for pair in json.loads(theirs.to_str())["model"]["merges"]]
    spelt = [(visible(ours.tokens[a]), visible(ours.tokens[b])) for a, b in ours.merges]
    assert spelt == theirs_merges
    special = len(ours.special_tokens)
    marks = {id_: visible(token) for id_, token in enumerate(ours.tokens) if id_ >= special}
    marks |= dict(enumerate(ours.special_tokens))
    assert marks == {id_: token for token, id_ in theirs.get_vocab().items()}
    assert ours.encode(text).tolist() == theirs.encode(text).ids


def sentences(seed, alphabet, number=400):
    """Words of few letters, drawn unevenly: many pairs are equally frequent."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(alphabet, k=draw.randint(1, 7))) for _ in range(60)]
    return " ".join(draw.choices(words, weights=[1 / (n + 1) for n in range(60)], k=number))


PLAY = "".join(
    f"SPEAKER {n % 7}:\nWhat's done is done; we'll not {word} it, 'tis {n * 37} years.\n\n"
    for n, word in enumerate(["mend", "break", "sell", "tell", "hear", "love"] * 16)
)
CORPORA = {
    "play": PLAY,
    "runs": " ".join("a" * (n % 9) + "b" * (n % 4) for n in range(200)),
    "ties": sentences(1, "abcd"),
    "more ties": sentences(2, "xyzé "),
    "scripts": "Привет, мир! 你好,世界。 नमस्ते दुनिया 123٣٤ ½ ①\u00a0\u2003 👩\u200d🚀 naïve\r\n" * 5,
    "code": "def f(x):\n    return x + 1  # it's\n\n\tif x:\n        y = [1, 22, 333]\n" * 6,
    "nothing": "",
    "one": "z",
}


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("specials", [(), (SPECIAL, "<pad>")], ids=["plain", "special"])
def test_merges_vocabulary_and_ids_are_those_of_hugging_face(name, specials):
    text = CORPORA[name]
    ours, theirs = ByteBPE.train(text, 420, specials), oracle([text], 420, specials)
    assert_alike(ours, theirs, text)
    assert ours.encode(PLAY + text).tolist() == theirs.encode(PLAY + text).ids


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="aabc '\né", max_size=200))
def test_ties_are_broken_as_hugging_face_breaks_them(text):
    assert_alike(ByteBPE.train(text, 300), oracle([text], 300), text)


def test_special_tokens_are_found_as_hugging_face_finds_them():
    specials = ["<|a|>", "<|a|>b", "<|a", "é "]
    ours, theirs = ByteBPE.train(PLAY, 400, specials), oracle([PLAY], 400, specials)
    text = "x<|a|>b<|a|><|a<|a é é  <|a|>  's <|<|a|"
    assert ours.encode(text).tolist() == theirs.encode(text).ids
    assert ours.decode(ours.encode(text)) == text


def test_nothing_is_learnt_from_special_tokens():
    documents = [PLAY[:1500], PLAY[1500:]]
    ours = ByteBPE.train(SPECIAL.join(documents), 400, [SPECIAL])
    assert_alike(ours, oracle(documents, 400, [SPECIAL]), PLAY)


def test_special_tokens_can_be_read_as_text():
    tokenizer = ByteBPE.train(PLAY, 300, [SPECIAL])
    assert tokenizer.encode(f"a{SPECIAL}b").tolist()[1] == 0
    ids = tokenizer.encode(f"a{SPECIAL}b", special=False)
    assert 0 not in ids and tokenizer.decode(ids) == f"a{SPECIAL}b"


TOKENIZER = ByteBPE.train(PLAY + CORPORA["scripts"], 450, [SPECIAL, "é's"])


@settings(deadline=None)
@given(texts)
@example("")
@example("".join(map(chr, [*range(0, 0xD800, 61), *range(0xE000, 0x10000, 61), 0x10FFFF])))
def test_decode_undoes_encode(text):
    assert TOKENIZER.decode(TOKENIZER.encode(text), errors="strict") == text
    assert "".join(TOKENIZER.decode_stream(TOKENIZER.encode(text))) == text


@pytest.mark.slow
def test_every_character_comes_back():
    for first in range(0, 0x110000, 0x8000):
        codes = range(first, first + 0x8000)
        text = "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)
        assert TOKENIZER.decode(TOKENIZER.encode(text), errors="strict") == text


@given(st.binary())
def test_any_bytes_decode_to_text(content):
    ids = [TOKENIZER.tokens.index(bytes([byte])) for byte in content]
    assert TOKENIZER.decode_bytes(ids) == content
    assert TOKENIZER.decode(ids) == content.decode("utf-8", errors="replace")
    assert "".join(TOKENIZER.decode_stream(ids)) == content.decode("utf-8", errors="replace")


def test_invalid_bytes_can_be_an_error():
    alone = [TOKENIZER.tokens.index("é".encode()[:1])]
    assert TOKENIZER.decode(alone) == "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        TOKENIZER.decode(alone, errors="strict")


@settings(deadline=None, max_examples=200)
@given(texts, st.data())
def test_a_stream_gives_the_same_ids_wherever_its_chunks_end(text, data):
    text = "".join(data.draw(st.permutations([text, SPECIAL, SPECIAL[:5], "é's'r", "  ", SPECIAL])))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    chunks = [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    ids = np.concatenate([*TOKENIZER.encode_stream(chunks), np.empty(0, int)])
    assert ids.tolist() == TOKENIZER.encode(text).tolist()


@pytest.fixture
def small_blocks(monkeypatch):
    """Chunks are otherwise gathered to blocks longer than the texts of these tests."""
    monkeypatch.setattr("tinygpt.tokenizers.splitting._BLOCK", 3)


@pytest.mark.parametrize(
    "text",
    [
        "we're they've I'll 'r 'v 'l're",
        "a   b \n\n c\n \n",
        f"x{SPECIAL}y {SPECIAL}{SPECIAL[:-1]} <|endof",
        "é's é 's<é's>",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa          b",
        "👩\u200d🚀 漢字 12ab½ . . ..",
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_borders_inside_pieces_and_special_tokens(text, size, small_blocks):
    chunks = [text[i : i + size] for i in range(0, len(text), size)]
    whole = ByteBPE(TOKENIZER.merges, TOKENIZER.special_tokens).encode(text).tolist()
    got = np.concatenate(list(TOKENIZER.encode_stream(iter(chunks)))).tolist()
    assert got == whole == _reference(text)


def _reference(text):
    theirs = oracle([PLAY + CORPORA["scripts"]], 450, [SPECIAL, "é's"])
    return theirs.encode(text).ids


@settings(deadline=None, max_examples=150)
@given(text=st.text(alphabet="ab're 's\n<|a>é1", max_size=60), size=st.integers(1, 5))
def test_small_blocks_change_nothing(text, size):
    tokenizer = ByteBPE(special_tokens=["<|a", "<|a|>", "re "])
    whole = tokenizer.encode(text).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tinygpt.tokenizers.splitting._BLOCK", 2)
        chunks = [text[i : i + size] for i in range(0, len(text), size)]
        assert [i for ids in tokenizer.encode_stream(chunks) for i in ids.tolist()] == whole


@settings(deadline=None)
@given(texts, st.lists(st.sampled_from([SPECIAL, "é's", " a", "re"]), unique=True))
def test_the_pieces_that_training_counts_say_how_long_the_text_is(text, specials):
    text += f"we're{SPECIAL}  é's"
    tokenizer, counts = ByteBPE.train_and_count(text, 280, specials)
    assert tokenizer.merges == ByteBPE.train(text, 280, specials).merges
    assert sum(len(piece) * count for piece, count in counts.items()) == len(text)
    tokens = sum(len(tokenizer.encode(piece)) * count for piece, count in counts.items())
    assert tokens == len(tokenizer.encode(text))


def test_training_takes_chunks_cut_anywhere():
    chunks = (PLAY[i : i + 7] for i in range(0, len(PLAY), 7))
    assert ByteBPE.train(chunks, 400).merges == ByteBPE.train(PLAY, 400).merges


def test_a_stream_takes_the_same_memory_however_long_the_text(without_type_checks):
    def peak(number):
        tracemalloc.start()
        total = sum(len(ids) for ids in TOKENIZER.encode_stream(PLAY for _ in range(number)))
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return total, memory

    few, many = peak(20), peak(120)
    assert many[0] == 6 * few[0]
    assert many[1] < 1.2 * few[1]


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet="aabéc", min_size=1, max_size=80))
def test_joining_by_heap_is_joining_the_first_learnt_pair_again_and_again(word):
    ranks = {pair: 258 + n for n, pair in enumerate(TOKENIZER.merges)}
    ids = [TOKENIZER.tokens.index(bytes([byte])) for byte in word.encode()]
    plain = list(ids)
    while pairs := [pair for pair in zip(plain, plain[1:], strict=False) if pair in ranks]:
        best = min(pairs, key=ranks.get)
        plain = merge_pair(plain, best, ranks[best])
    assert merge_by_rank(ids, ranks) == plain


def test_overlapping_pairs_are_joined_from_the_left():
    assert merge_pair([1, 1, 1], (1, 1), 2) == [2, 1]
    assert merge_pair([1, 1, 1, 1], (1, 1), 2) == [2, 2]
    assert merge_pair([1], (1, 1), 2) == [1]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.lists(st.integers(0, 3), max_size=9), st.integers(1, 4)), max_size=9))
def test_learning_step_by_step_is_recounting_everything(words):
    words = [(list(ids), count) for ids, count in words]
    learnt, rest = learn_merges(words, 12, first=4), words
    for number, pair in enumerate(learnt):
        counts = {}
        for ids, count in rest:
            for each in zip(ids, ids[1:], strict=False):
                counts[each] = counts.get(each, 0) + count
        assert pair == min(counts, key=lambda each: (-counts[each], each))
        rest = [(merge_pair(ids, pair, 4 + number), count) for ids, count in rest]
    assert len(learnt) == 12 or all(len(ids) < 2 for ids, _ in rest)


def test_a_long_piece_does_not_take_the_square_of_its_length(monkeypatch, without_type_checks):
    """The pairs that are looked at are counted, not the seconds."""
    from tinygpt.tokenizers import merging

    looked, original = [], merging.heappop
    monkeypatch.setattr(merging, "heappop", lambda heap: looked.append(1) or original(heap))

    def pairs(n):
        looked.clear()
        assert len(tokenizer.encode("the" * n)) == n
        return len(looked)

    tokenizer = ByteBPE.train("the the", 258)
    assert 0 < pairs(40_000) < 21 * pairs(2_000)


def test_work_grows_with_distinct_words_and_not_with_the_text():
    """The words that are joined in are counted, not the seconds."""
    from tinygpt.tokenizers import merging

    def visits(text):
        calls = []
        original = merging.merge_pair
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(merging, "merge_pair", lambda *a: calls.append(1) or original(*a))
            ByteBPE.train(text, 400)
        return len(calls)

    assert visits(PLAY * 8) == visits(PLAY)


@pytest.mark.parametrize("id_", ["a", 1.5, None])
def test_decode_stream_names_what_is_no_id(id_):
    with pytest.raises(TypeError, match="decode_stream: each id must be an integer, got"):
        list(TOKENIZER.decode_stream(iter([id_])))
