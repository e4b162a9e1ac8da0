"""Characters as numbers, the split, and batches."""

import json
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tinygpt import data

characters = st.characters(exclude_categories=["Cs"])


@given(st.text(characters, min_size=1), st.data())
def test_encoding_and_decoding_give_the_text_back(corpus, draw):
    vocabulary = data.CharVocabulary(corpus)
    text = draw.draw(st.text(st.sampled_from(corpus)))
    ids = vocabulary.encode(text)
    assert vocabulary.decode(ids) == vocabulary.decode(ids.tolist()) == text
    assert len(vocabulary) == len(set(corpus)) and ids.dtype == np.int64
    assert vocabulary.encode(vocabulary.characters).tolist() == list(range(len(vocabulary)))


@given(st.integers(2, 200), st.floats(0.01, 0.99))
def test_a_split_is_the_corpus_in_order(size, fraction):
    ids = np.arange(size)
    if int(fraction * size) == 0:
        with pytest.raises(ValueError, match="leaves none to train on"):
            data.train_val_split(ids, fraction)
        return
    train, validation = data.train_val_split(ids, fraction)
    assert len(train) == int(fraction * size) and len(validation) > 0
    assert np.concatenate([train, validation]).tolist() == ids.tolist()


@given(st.integers(1, 9), st.integers(1, 20), st.integers(1, 30), st.integers(0, 99))
def test_targets_are_the_inputs_one_later(batch, block, more, seed):
    ids = np.arange(block + more) * 3
    x, y = data.random_batch(ids, batch, block, np.random.default_rng(seed))
    assert x.shape == y.shape == (batch, block)
    assert (y == x + 3).all() and (np.diff(x) == 3).all()
    again, _ = data.random_batch(ids, batch, block, np.random.default_rng(seed))
    assert (again == x).all()


@given(st.integers(2, 60), st.integers(1, 5), st.integers(1, 20))
def test_side_by_side_windows_predict_each_token_once(size, batch, block):
    ids = np.arange(size, dtype=np.uint8)
    batches = list(data.sequential_batches(ids, batch, block))
    assert [t for _, y in batches for t in y.ravel()] == list(range(1, size))
    assert all((y == x + 1).all() and x.dtype == y.dtype == np.int64 for x, y in batches)
    assert all(x.shape[1] == block and 1 <= len(x) <= batch for x, _ in batches[:-1])
    assert all(len(x) == batch for x, _ in batches[:-2])
    assert len(batches) <= size // (batch * block) + 2


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int64])
def test_batches_come_from_any_integers(dtype):
    ids = np.arange(200)
    x, y = data.random_batch(ids.astype(dtype), 4, 8, np.random.default_rng(0))
    a, b = data.random_batch(ids, 4, 8, np.random.default_rng(0))
    assert x.dtype == y.dtype == np.int64 and (x == a).all() and (y == b).all()
    assert data.CharVocabulary("ab").decode((ids[:2] % 2).astype(dtype)) == "ab"


def test_a_large_map_is_not_loaded(tmp_path):
    path = tmp_path / "ids.npy"
    with open(path, "wb") as file:
        about = {"descr": "|u1", "fortran_order": False, "shape": (200_000_000,)}
        np.lib.format.write_array_header_1_0(file, about)
        file.truncate(file.tell() + 200_000_000)  # a hole: takes no room
    ids = np.load(path, mmap_mode="r")
    train, validation = data.train_val_split(ids)
    rng = np.random.default_rng(0)
    tracemalloc.start()
    before = anonymous_memory()
    for part in (train, validation):
        for _ in range(20):
            data.random_batch(part, 16, 256, rng)
        for batch, _ in zip(data.sequential_batches(part, 16, 256), range(20), strict=False):
            assert batch[0].shape == (16, 256)
    grown = anonymous_memory() - before
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6 and grown < 20e6


def anonymous_memory():
    """Bytes of this process that no file stands for; 0 where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) * 1024


def test_every_window_can_be_drawn():
    x, y = data.random_batch(np.arange(5), 200, 2, np.random.default_rng(0))
    assert set(x[:, 0]) == {0, 1, 2} and y.max() == 4


def test_one_token_cannot_be_predicted():
    with pytest.raises(ValueError, match="has 1 tokens; a prediction needs at least 2"):
        data.sequential_batches(np.arange(1), 1, 1)


@given(st.text(characters, min_size=1))
def test_a_vocabulary_comes_back_from_json(text):
    vocabulary = data.CharVocabulary(text)
    line = vocabulary.to_json()
    assert "\n" not in line and line.isascii()
    again = data.CharVocabulary.from_json(line)
    assert again.characters == vocabulary.characters
    assert again.encode(text).tolist() == vocabulary.encode(text).tolist()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", "null", '{"characters": "ab"}', '{"kind": "characters"}', "[" * 100_000]
    + [json.dumps({"kind": "characters", "characters": c}) for c in (None, 3, ["a"])]
    + [json.dumps({"kind": "pairs", "characters": "ab"})],
)
def test_other_json_is_no_vocabulary(text):
    with pytest.raises(ValueError, match="^CharVocabulary.from_json: text must be what to_json w"):
        data.CharVocabulary.from_json(text)


@pytest.mark.parametrize("wrong", ["", "ba", "aab"])
def test_a_vocabulary_out_of_order_is_refused(wrong):
    text = json.dumps({"kind": "characters", "characters": wrong})
    with pytest.raises(ValueError, match="distinct and in code-point order, at least one, got str"):
        data.CharVocabulary.from_json(text)


def test_half_a_character_is_refused():
    with pytest.raises(ValueError, match=r"text holds '\\ud83d', half a character"):
        data.CharVocabulary("a\ud83d")
    with pytest.raises(ValueError, match=r"'\\ud83d' is not among the 1 of the corpus"):
        data.CharVocabulary("a").encode("a\ud83d")


VOCABULARY = data.CharVocabulary("abc")
IDS = np.arange(10)


@pytest.mark.parametrize("text", [None, b"a", ["a"]])
def test_encode_refuses_what_is_no_text(text, without_type_checks):
    message = "^CharVocabulary.encode: text must be a str, got "
    with pytest.raises(TypeError, match=message):
        VOCABULARY.encode(text)


@pytest.mark.parametrize(
    "ids", [[0.5], [True], "a", None, 0, [[0, 1]], [[0], [0, 1]], np.eye(2), {}]
)
def test_decode_refuses_what_are_no_ids(ids, without_type_checks):
    with pytest.raises(
        TypeError, match=r"^CharVocabulary.decode: ids must be a list or .+, got ."
    ) as e:
        VOCABULARY.decode(ids)
    assert "\n" not in str(e.value)


def test_what_is_outside_the_vocabulary_is_said():
    with pytest.raises(ValueError, match="the character 'd' is not among the 3 of"):
        VOCABULARY.encode("ad")
    for bad in (-1, 3):
        with pytest.raises(ValueError, match=f"id {bad} is outside 0 to 2"):
            VOCABULARY.decode([0, bad])
    with pytest.raises(ValueError, match="text is an empty string"):
        data.CharVocabulary("")
    assert VOCABULARY.decode([]) == VOCABULARY.decode(VOCABULARY.encode("")) == ""


NO_IDS = [None, 5, [1, 2, 3], IDS.reshape(2, 5), IDS * 1.0]


@pytest.mark.parametrize(
    ("function", "changed"),
    [
        (f, {"ids": i})
        for f in ("train_val_split", "random_batch", "sequential_batches")
        for i in NO_IDS
    ]
    + [("train_val_split", {"train_fraction": f}) for f in ("a", None, float("nan"), 0, 1, True)]
    + [
        (function, {name: size})
        for function in ("random_batch", "sequential_batches")
        for name in ("batch_size", "block_size")
        for size in (1.5, "a", None, True, float("nan"), 0, -1)
    ]
    + [("random_batch", {"rng": None}), ("random_batch", {"rng": 0})],
)
def test_a_wrong_argument_is_one_sentence(function, changed, without_type_checks):
    defaults = {
        "train_val_split": {"ids": IDS},
        "random_batch": {"ids": IDS, "batch_size": 2, "block_size": 3}
        | {"rng": np.random.default_rng(0)},
        "sequential_batches": {"ids": IDS, "batch_size": 2, "block_size": 3},
    }
    (name,) = changed
    with pytest.raises((TypeError, ValueError)) as error:
        getattr(data, function)(**defaults[function] | changed)
    assert re.fullmatch(rf"{function}: {name} must be .+, got .+", str(error.value))


def test_too_short_a_corpus_is_said():
    with pytest.raises(ValueError, match="10 tokens; block_size=10 needs at least 11"):
        data.random_batch(IDS, 1, 10, np.random.default_rng(0))
