"""Any text as a corpus: read piece by piece, kept on the disk, never half of it."""

import errno
import hashlib
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tinygpt import data
from tinygpt.data import corpora, corpus, files, text, tokens

PLAY = "ROMEO:\nO, für Élise – speak again 😀!\n\n" * 20


@pytest.fixture
def play(tmp_path):
    path = tmp_path / "play.txt"
    path.write_bytes(PLAY.encode("utf-8"))
    return path


def decoded(corpus):
    return corpus.vocabulary.decode(np.concatenate([corpus.train, corpus.validation]))


def refused(*args, error=data.DataError, **kwargs):
    with pytest.raises(error) as raised:
        data.load_corpus(*args, **kwargs)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("kept", [False, True])
def test_a_file_is_a_corpus(play, tmp_path, kept):
    corpus = data.load_corpus(play, tmp_path / "kept" if kept else None)
    assert corpus.name == "play.txt" and decoded(corpus) == PLAY
    assert len(corpus.train) == int(0.9 * len(PLAY)) and corpus.train.dtype == np.uint8
    assert corpus.digest == hashlib.sha256(play.read_bytes()).hexdigest()
    assert isinstance(corpus.train, np.memmap) == kept
    x, y = data.random_batch(corpus.train, 2, 8, np.random.default_rng(0))
    assert x.dtype == np.int64 and type(x) is type(y) is np.ndarray


@pytest.mark.parametrize("name", ["shakespeare", "tinyshakespeare"])
def test_the_two_names_are_shakespeare(monkeypatch, tmp_path, name):
    monkeypatch.setattr(corpora, name, lambda: PLAY)
    monkeypatch.setattr(corpus, "_PIECE", 7)
    one, other = data.load_corpus(name), data.load_corpus(name, tmp_path)
    assert one.name == other.name == name and one.digest == other.digest
    assert decoded(one) == decoded(other) == PLAY
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("mine", encoding="utf-8")
    assert decoded(data.load_corpus(f"./{name}")) == decoded(data.load_corpus(Path(name))) == "mine"


@pytest.mark.parametrize(("size", "dtype"), [(256, "u1"), (257, "u2"), (65_537, "u4")])
def test_the_smallest_integers_that_fit(tmp_path, size, dtype):
    # Past the half characters, which UTF-8 cannot hold.
    content = "".join(chr(0xE000 + i) for i in range(size))
    path = tmp_path / "many.txt"
    path.write_bytes(content.encode("utf-8"))
    for folder in (None, tmp_path / "kept"):
        corpus = data.load_corpus(path, folder)
        assert corpus.train.dtype == dtype and decoded(corpus) == content


characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff")
endings = st.sampled_from(["\n", "\r\n", "\r", "é", "😀"])


@given(st.lists(characters | endings, min_size=1).map("".join), st.integers(1, 9))
def test_a_cut_inside_a_character_or_a_line_end_changes_nothing(folder, content, piece):
    path = folder / "text.txt"
    path.write_bytes(content.encode("utf-8"))
    expected = content.replace("\r\n", "\n").replace("\r", "\n")
    assert "".join(text.read_pieces([path], piece)) == expected


@given(st.text(characters), st.sampled_from([b"\xff", b"\xc3\x28", b"\xe2\x82"]), st.integers(1, 9))
def test_wrong_encoding_is_found_where_it_is(folder, before, wrong, piece):
    path, before = folder / "text.txt", b"." + before.encode("utf-8")
    path.write_bytes(before + wrong)
    with pytest.raises(data.DataError) as error:
        list(text.read_pieces([path], piece))
    assert str(error.value) == (
        f"{path}: not UTF-8 (byte 0x{wrong[0]:02x} at offset {len(before):,}); save it as UTF-8"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("texts")


def test_a_byte_order_mark_is_left_out(folder):
    path = folder / "mark.txt"
    path.write_bytes("\ufeffO!\r\n".encode())
    for piece in (1, 2, 100):
        assert "".join(text.read_pieces([path], piece)) == "O!\n"
        path.write_bytes(b"\xef\xbb\xbfab\xff")
        with pytest.raises(data.DataError, match="byte 0xff at offset 5"):
            list(text.read_pieces([path], piece))
        path.write_bytes("\ufeffO!\r\n".encode())


def test_a_folder_is_its_text_files_in_order(tmp_path):
    wanted = {"a.txt": "1", "b/c.md": "2\n", "b.TXT": "3", "c.txt": "", "d/e/f.txt": "4"}
    for name in [*wanted, ".hidden.txt", ".git/x.txt", "b/x.py", "x"]:
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted.get(name, "no"), encoding="utf-8")
    corpus = data.load_corpus(tmp_path / "texts", tmp_path / "texts")
    assert corpus.name == "texts" and decoded(corpus) == "1\n2\n3\n4\n"
    again = data.load_corpus(str(tmp_path / "texts"), train_fraction=0.5)
    assert decoded(again) == decoded(corpus) and len(again.train) == 4


def test_what_is_no_text_is_one_sentence(tmp_path):
    path = tmp_path / "x.txt"
    assert refused(path) == f"{path} is not there; give a text file or a folder of text files"
    assert refused(tmp_path) == (
        f"{tmp_path} holds no text file; give a folder with .txt or .md files in it"
    )
    path.write_bytes(b"")
    assert refused(path) == f"{path} is empty; give a text with something to predict"
    assert refused(tmp_path) == f"{tmp_path} is empty; give a text with something to predict"
    path.write_bytes(b"a")
    assert refused(path) == f"{path} has one character; give a text with something to predict"
    path.write_bytes(b"PNG" + bytes(3))
    assert refused(path) == f"{path}: a binary file (a zero byte at offset 3); give a text file"
    path.write_bytes("O!".encode("utf-16"))
    assert "(byte 0xff at offset 0, the mark of UTF-16); save it as UTF-8" in refused(path)
    os.mkfifo(tmp_path / "pipe")
    assert "pipe is neither a file nor a folder; give" in refused(tmp_path / "pipe")


@pytest.mark.parametrize("walked", [False, True])
def test_what_cannot_be_read_is_one_sentence(play, monkeypatch, walked):
    def fail(name, *_, **__):
        raise OSError(errno.EACCES, "Permission denied", str(name))

    monkeypatch.setattr("os.scandir" if walked else "builtins.open", fail)
    path = play.parent if walked else play
    assert refused(path).startswith(f"{path}: cannot be read (Permission denied); give a text")


@pytest.mark.parametrize(
    ("changed", "error"),
    [({"train_fraction": f}, ValueError) for f in (0, 1, -0.1, 90, float("nan"))]
    + [({"train_fraction": f}, TypeError) for f in ("a", None, True)]
    + [({"source": s}, TypeError) for s in (None, 3, b"play.txt", "", np.arange(2))]
    + [({"folder": s}, TypeError) for s in (3, b"kept", "")],
)
def test_a_wrong_argument_is_one_sentence(play, changed, error, without_type_checks):
    (name,) = changed
    message = refused(**{"source": play} | changed, error=error)
    assert message.startswith(f"load_corpus: {name} must be ") and ", got " in message


def test_what_is_kept_is_used_again(play, tmp_path, monkeypatch):
    first = data.load_corpus(play, tmp_path / "kept")
    monkeypatch.setattr(tokens, "_write", None)
    again = data.load_corpus(play, tmp_path / "kept", train_fraction=0.5)
    assert decoded(again) == decoded(first) == PLAY
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == ["tokens.json", "tokens.npy"]


@pytest.mark.parametrize("name", ["tokens.npy", "tokens.json"])
@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "gone", "longer", "folder gone"])
def test_what_is_damaged_is_made_anew(play, tmp_path, name, damage):
    kept = tmp_path / "kept"
    data.load_corpus(play, kept)
    path = kept / name
    whole = path.read_bytes()
    path.unlink()
    half = len(whole) // 2
    flipped = whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :]
    contents = {"cut": whole[:-3], "changed": flipped, "empty": b"", "longer": whole + b"1"}
    if damage in contents:
        path.write_bytes(contents[damage])
    assert decoded(data.load_corpus(play, kept)) == PLAY
    assert path.read_bytes() == whole


def test_another_text_is_another_corpus(play, tmp_path):
    old = data.load_corpus(play, tmp_path / "kept")
    play.write_text(PLAY.replace("ROMEO", "OMERO"), encoding="utf-8")  # the same characters
    new = data.load_corpus(play, tmp_path / "kept")
    assert decoded(new) == PLAY.replace("ROMEO", "OMERO") and new.digest != old.digest
    assert decoded(old) == PLAY  # the old map still stands


@pytest.mark.parametrize("change", ["more", "c" * 10, "ba" * 5, "ab"])
def test_a_text_that_changes_meanwhile_is_refused(tmp_path, monkeypatch, change):
    path = tmp_path / "a.txt"
    path.write_text("ab" * 5, encoding="utf-8")
    write = tokens._write

    def later(*args):
        path.write_text(change, encoding="utf-8")
        return write(*args)

    monkeypatch.setattr(tokens, "_write", later)
    assert "tokens.npy: the text changed while it was read" in refused(path, tmp_path / "kept")
    assert not list((tmp_path / "kept").iterdir())


@pytest.mark.parametrize("when", ["write", "os.replace", "os.fsync"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_interrupted_writing_leaves_nothing(play, tmp_path, monkeypatch, when, error):
    kept, create = tmp_path / "kept", files.tempfile.NamedTemporaryFile

    def fail(*_):
        raise error

    def full(**kwargs):
        file = create(**kwargs)
        monkeypatch.setattr(file, "write", fail, raising=False)
        return file

    with monkeypatch.context() as patch:
        patch.setattr(*(("tempfile.NamedTemporaryFile", full) if when == "write" else (when, fail)))
        if isinstance(error, OSError):
            assert refused(play, kept) == (
                f"{kept / 'tokens.npy'}: cannot be written (No space left); free some room, or "
                "give a folder that can be written to"
            )
        else:
            with pytest.raises(KeyboardInterrupt):
                data.load_corpus(play, kept)
    assert not list(kept.iterdir())
    assert decoded(data.load_corpus(play, kept)) == PLAY


def test_a_folder_that_cannot_be_is_one_sentence(play):
    for folder in (play, play / "kept"):
        message = refused(play, folder)
        assert message.startswith(f"{folder / 'tokens.npy'}: cannot be written (")
        assert message.endswith("); give a folder that can be written to")


def test_a_disk_that_does_not_keep_is_said(play, tmp_path, monkeypatch):
    monkeypatch.setattr(tokens, "_read", lambda *_: None)
    assert "tokens.npy: is not what was just written; see that" in refused(play, tmp_path)


def test_a_large_text_is_never_in_memory(tmp_path, without_type_checks):
    path = tmp_path / "large.txt"
    path.write_bytes(PLAY.encode("utf-8") * 10_000)
    tracemalloc.start()
    corpus = data.load_corpus(path, tmp_path / "kept")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(corpus.train) + len(corpus.validation) == len(PLAY) * 10_000
    assert path.stat().st_size > 8e6 and peak < 6e6
