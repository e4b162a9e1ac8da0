"""A tokenizer on the disk, and what is said about files and arguments that cannot be used."""

import json
import subprocess
import sys

import numpy as np
import pytest
from tinygpt.tokenizers import ByteBPE

TOKENIZER = ByteBPE.train("the theatre, the thief; naïve 漢字 " * 9, 300, ["<|end|>", "é\n"])
pytestmark = pytest.mark.usefixtures("without_type_checks")


def same(a, b):
    return (a.tokens, a.merges, a.special_tokens) == (b.tokens, b.merges, b.special_tokens)


def test_save_and_load(tmp_path):
    TOKENIZER.save(tmp_path / "tokenizer.json")
    assert same(ByteBPE.load(tmp_path / "tokenizer.json"), TOKENIZER)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


def test_an_interrupted_save_leaves_the_older_file(tmp_path, monkeypatch):
    path = tmp_path / "tokenizer.json"
    ByteBPE().save(path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match=r"could not write .*No space left"):
        TOKENIZER.save(path)
    assert same(ByteBPE.load(path), ByteBPE())


def test_every_cut_of_a_file_is_refused(tmp_path):
    content, path = TOKENIZER.to_json().encode(), tmp_path / "cut.json"
    for end in range(0, len(content) - 1, 11):
        path.write_bytes(content[:end])
        with pytest.raises(ValueError, match=r"is not (whole JSON|text in UTF-8); save the tok"):
            ByteBPE.load(path)


def changed(**fields):
    return json.dumps(json.loads(TOKENIZER.to_json()) | fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "must have the kind 'byte-level BPE', got None"),
        ('{"kind": "characters"}', "must have the kind 'byte-level BPE', got str 'characters'"),
        (changed(version=2), "must be of version 1, got int 2; save it again with this version"),
        (changed(version=True), "must be of version 1, got bool True"),
        (changed(merges=None), "merges must be a list of strings, got None"),
        (changed(merges=[["a", "b"]]), "merges must be a list of strings, got list"),
        (changed(merges=["a b", "ab xy"]), "merge 1 refers to 'xy', which is neither a byte nor"),
        (changed(merges=["a"]), "merge 0 refers to '', which is neither a byte"),
        (changed(merges=["a b c"]), "merge 0 refers to 'b c', which is neither a byte"),
        (changed(merges=["a 漢"]), "merge 0 refers to '漢', which is neither a byte"),
        (changed(merges=["a b", "a b"]), "merge 1 makes 'ab', which is a token already"),
        (changed(special_tokens=["x", "x"]), "a string of its own, .* got 'x' twice"),
        (changed(special_tokens=[""]), "at least one character long, got ''"),
        (changed(special_tokens="ab"), "special_tokens must be a list of strings, got str 'ab'"),
        (changed(special_tokens=["\ud800"]), r"special token '\\ud800' holds half a character"),
        ("[" * 100_000, "is not whole JSON"),
    ],
)
def test_a_damaged_file_is_one_clear_sentence(tmp_path, text, message):
    path = tmp_path / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        ByteBPE.load(path)
    assert "\n" not in str(caught.value)


def test_no_file_and_no_text(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"ByteBPE.load: there is no file at path"):
        ByteBPE.load(tmp_path / "none.json")
    with pytest.raises(IsADirectoryError, match="is a directory; name a file"):
        ByteBPE.load(tmp_path)
    with pytest.raises(TypeError, match="path must be a string or a Path, got int 3"):
        ByteBPE.load(3)
    (tmp_path / "latin.json").write_bytes(b"\xe9")
    with pytest.raises(ValueError, match="is not text in UTF-8"):
        ByteBPE.load(tmp_path / "latin.json")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ByteBPE.train("abc", 255), "vocab_size must be an integer, 256 or more, got 255"),
        (lambda: ByteBPE.train("abc", 256, ["<s>"]), "vocab_size must be .* 257 or more, got 256"),
        (lambda: ByteBPE.train("abc", 3e2), "vocab_size must be an integer, 256 or more, got flo"),
        (lambda: ByteBPE.train([b"abc"], 300), "pretokenize: text must be a str, got bytes b'abc'"),
        (lambda: ByteBPE.train("a\ud800", 300), r"text holds '\\ud800', half a character"),
        (lambda: ByteBPE([(0, 256)]), "merge 0 must be an integer from 0 to 255, got 256"),
        (lambda: ByteBPE([(1, 2), (1, 2)]), "merge 1 makes '\"#', which is a token already"),
        (lambda: ByteBPE(5), "ByteBPE: merges must be a list of pairs of ids, got int 5"),
        (lambda: ByteBPE(None), "ByteBPE: merges must be a list of pairs of ids, got None"),
        (lambda: ByteBPE([5]), "merge 0 must be a pair of ids, got int 5"),
        (lambda: ByteBPE([], "ab"), "special_tokens must be a list of strings, got str 'ab'"),
        (lambda: ByteBPE([], [3]), "a special token must be a str, got int 3"),
        (lambda: TOKENIZER.encode(b"x"), "ByteBPE.encode: text must be a str, got bytes b'x'"),
        (lambda: TOKENIZER.encode("a\udfff"), r"text holds '\\udfff', half a character"),
        (lambda: TOKENIZER.encode("a", special=3), "special must be a bool, got int 3"),
        (lambda: TOKENIZER.decode([300]), r"ByteBPE.decode: id 300 is outside 0..2\d\d"),
        (lambda: TOKENIZER.decode([-1]), "id -1 is outside"),
        (lambda: TOKENIZER.decode([[1]]), r"ids must be 1-D, got shape \(1, 1\)"),
        (lambda: TOKENIZER.decode("ab"), "ids must be a NumPy array or list of integers, got str"),
        (lambda: TOKENIZER.decode([0.5]), "ids must be integers, got float64"),
        (lambda: TOKENIZER.decode_stream(5), "decode_stream: ids must be a list of integers, got"),
        (lambda: ByteBPE.from_json(3), "text must be a str, got int 3"),
    ],
)
def test_a_wrong_argument_is_one_clear_sentence(call, message):
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        if (stream := call()) is not None:
            list(stream)
    assert "\n" not in str(caught.value)


def test_ids_of_any_integer_type_decode():
    ids = TOKENIZER.encode("the thief")
    for kind in (np.uint16, np.int32, np.uint64):
        assert TOKENIZER.decode(ids.astype(kind)) == "the thief"
    assert TOKENIZER.decode(ids.tolist()) == "the thief" and TOKENIZER.decode([]) == ""


def test_the_package_needs_nothing_but_numpy():
    """What a browser's Python does not have, and what is only an oracle, is not imported."""
    barred = ["torch", "tokenizers", "regex", "safetensors", "click", "matplotlib", "jaxtyping"]
    code = (
        f"import sys\nfor name in {barred}: sys.modules[name] = None\n"
        "from tinygpt.tokenizers import ByteBPE\n"
        "t = ByteBPE.train('the thé 漢字 then', 260)\n"
        "assert t.decode(ByteBPE.from_json(t.to_json()).encode('the é')) == 'the é'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
