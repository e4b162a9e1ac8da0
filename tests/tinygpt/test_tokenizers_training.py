"""A tokenizer as the vocabulary of a corpus, a run and a generated text."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tinygpt import data, training
from tinygpt.commands import tinygpt
from tinygpt.data import tokens
from tinygpt.tokenizers import ByteBPE

TEXT = "".join(f"ROMEO:\nWhat's the {n} matter, für Élise 😀?\n\n" for n in range(150))
SMALL = ["--embed-dim", "16", "--num-layers", "1", "--num-heads", "2", "--block-size", "8"]
SMALL += ["--batch-size", "2", "--eval-batches", "1", "--device", "cpu", "--quiet"]


@pytest.fixture
def play(tmp_path):
    path = tmp_path / "play.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def invoke(*arguments, fails=False):
    result = CliRunner().invoke(tinygpt, [str(each) for each in arguments])
    assert bool(result.exit_code) == fails, result.output
    return result.output


def whole(corpus):
    return np.concatenate([corpus.train, corpus.validation])


@pytest.mark.parametrize("kept", [False, True])
def test_a_corpus_in_tokens(play, tmp_path, kept):
    corpus = data.load_corpus(play, tmp_path / "kept" if kept else None, tokenizer=300)
    assert isinstance(corpus.vocabulary, ByteBPE) and len(corpus.vocabulary) == 300
    assert corpus.vocabulary.decode(whole(corpus)) == TEXT
    assert whole(corpus).tolist() == corpus.vocabulary.encode(TEXT).tolist()
    assert corpus.train.dtype == np.uint16
    assert len(corpus.train) == int(0.9 * len(whole(corpus)))


def test_the_tokenizer_learns_from_the_part_to_train_on(play):
    corpus = data.load_corpus(play, tokenizer=300)
    assert corpus.vocabulary.merges == ByteBPE.train(TEXT[: int(0.9 * len(TEXT))], 300).merges
    assert corpus.vocabulary.merges != ByteBPE.train(TEXT[::-1], 300).merges


def test_pieces_of_any_size_give_the_same_tokens(play, tmp_path, monkeypatch):
    expected = whole(data.load_corpus(play, tokenizer=300))
    monkeypatch.setattr("tinygpt.data.text._PIECE", 100)
    monkeypatch.setattr("tinygpt.tokenizers.splitting._BLOCK", 50)
    assert np.array_equal(whole(data.load_corpus(play, tmp_path / "kept", tokenizer=300)), expected)


def test_kept_tokens_are_used_again_for_the_same_tokenizer_only(play, tmp_path, monkeypatch):
    folder, first = tmp_path / "kept", ByteBPE.train(TEXT, 300)
    before = whole(data.load_corpus(play, folder, tokenizer=first))
    np.load(folder / "tokens.npy", mmap_mode="r")
    with monkeypatch.context() as patch:
        patch.setattr(tokens, "_write", None)
        assert np.array_equal(whole(data.load_corpus(play, folder, tokenizer=first)), before)
    other = data.load_corpus(play, folder, tokenizer=ByteBPE())
    assert len(whole(other)) == len(TEXT.encode())
    assert data.load_corpus(play, folder).vocabulary.decode(whole(data.load_corpus(play))) == TEXT


def test_a_damaged_file_of_tokens_is_made_anew(play, tmp_path):
    folder = tmp_path / "kept"
    expected = whole(data.load_corpus(play, folder, tokenizer=300)).tolist()
    content = (folder / "tokens.npy").read_bytes()
    about = json.loads((folder / "tokens.json").read_text())
    for damage in (content[:-2], content[:-1] + b"\x7f", b""):
        (folder / "tokens.npy").write_bytes(damage)
        assert whole(data.load_corpus(play, folder, tokenizer=300)).tolist() == expected
    for number in (about["tokens"] - 1, "many", None):
        (folder / "tokens.json").write_text(json.dumps(about | {"tokens": number}))
        assert whole(data.load_corpus(play, folder, tokenizer=300)).tolist() == expected


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (200, "ByteBPE.train: vocab_size must be an integer, 256 or more, got 200"),
        ("bpe", "load_corpus: tokenizer must be a ByteBPE, got str 'bpe'"),
        (True, "load_corpus: tokenizer must be a ByteBPE, got bool True"),
    ],
)
def test_what_is_no_tokenizer(play, tokenizer, message, without_type_checks):
    with pytest.raises((TypeError, ValueError), match=message):
        data.load_corpus(play, tokenizer=tokenizer)


def test_vocabularies_from_json():
    for vocabulary in (data.CharVocabulary("abc"), ByteBPE.train(TEXT, 270)):
        found = data.vocabulary_from_json(vocabulary.to_json())
        assert type(found) is type(vocabulary) and found.to_json() == vocabulary.to_json()
    for text in ("[]", "{", '{"kind": 3}'):
        with pytest.raises(ValueError, match="must be what to_json wrote"):
            data.vocabulary_from_json(text)


def test_train_resume_and_generate(play, tmp_path):
    run = tmp_path / "run"
    common = ["train", "--corpus", play, "--out", run, *SMALL, "--sample-every", "4"]
    invoke(*common, "--tokenizer", "bpe", "--vocab-size", 280, "--steps", 8)
    model, vocabulary, state = training.load_run(run)
    assert isinstance(vocabulary, ByteBPE) and model.vocab_size == len(vocabulary) == 280
    assert state["vocabulary"]["kind"] == "byte-level BPE"
    assert len(list((run / "samples").iterdir())) == 2
    invoke("train", "--out", run, "--resume", "--quiet")  # all steps are done
    text = invoke("generate", "--run", run, "--prompt", "Élise 漢", "--tokens", 30, "--seed", 1)
    assert text.startswith("Élise 漢") and len(text) > 20
    assert text == invoke(
        "generate", "--run", run, "--prompt", "Élise 漢", "--tokens", 30, "--seed", 1
    )


def test_a_resumed_run_is_the_run_that_was_not_interrupted(play, tmp_path):
    options = ["--corpus", play, *SMALL, "--tokenizer", "bpe", "--vocab-size", 280]
    options += ["--steps", 6, "--checkpoint-every", 3, "--sample-every", 0]
    invoke("train", *options, "--out", tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        made = training.Updates.make

        def stop_at_five(self, step):
            if step == 5:
                raise KeyboardInterrupt
            return made(self, step)

        patch.setattr(training.Updates, "make", stop_at_five)
        result = CliRunner().invoke(
            tinygpt, ["train", *map(str, options), "--out", str(tmp_path / "stopped")]
        )
        assert result.exit_code
    invoke("train", "--resume", "--quiet", "--out", tmp_path / "stopped")
    weights = [
        next((tmp_path / name).glob("checkpoint-000006")) / "model.safetensors"
        for name in ("whole", "stopped")
    ]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_another_tokenizer_cannot_take_up_a_run(play, tmp_path):
    run = tmp_path / "run"
    common = ["--corpus", play, "--out", run, *SMALL, "--sample-every", 0]
    invoke("train", *common, "--steps", 2, "--tokenizer", "bpe", "--vocab-size", 280)
    ByteBPE.train(TEXT[::-1], 280).save(tmp_path / "other.json")
    said = invoke(
        "train", "--resume", "--quiet", "--out", run, "--tokenizer", tmp_path / "other.json",
        fails=True,
    )  # fmt: skip
    assert "vocabulary is another, byte-level BPE with 24 merges, but the run in" in said
    assert "has byte-level BPE with 24 merges; go on with the same" in said
    said = invoke(
        "train", "--resume", "--quiet", "--out", run, "--tokenizer", "characters", fails=True
    )
    assert "vocabulary is another, characters, but the run" in said


def test_a_file_that_the_command_wrote(play, tmp_path):
    path, run = tmp_path / "tokens.json", tmp_path / "run"
    said = invoke("tokenizer", path, "--corpus", play, "--vocab-size", 300, "--special", "<end>")
    assert "300 tokens; the text is" in said and "characters each" in said
    assert ByteBPE.load(path).special_tokens == ("<end>",)
    invoke(
        "train", "--corpus", play, "--out", run, *SMALL, "--sample-every", 0, "--steps", 2,
        "--tokenizer", path,
    )  # fmt: skip
    assert training.load_run(run)[1].to_json() == ByteBPE.load(path).to_json()


def test_special_tokens_from_the_text_to_a_generated_one(tmp_path):
    end, documents, run = "<|end|>", tmp_path / "documents.txt", tmp_path / "run"
    documents.write_text(end.join(f"Document {n % 3}.\n" for n in range(300)), encoding="utf-8")
    path = tmp_path / "tokens.json"
    invoke("tokenizer", path, "--corpus", documents, "--vocab-size", 300, "--special", end)
    invoke(
        "train", "--corpus", documents, "--out", run, *SMALL, "--tokenizer", path,
        "--steps", 60, "--learning-rate", 0.02, "--sample-every", 60,
    )  # fmt: skip
    _, vocabulary, _ = training.load_run(run)
    assert (np.load(run / "tokens" / "tokens.npy") == vocabulary.encode(end)[0]).sum() == 299
    assert end in next((run / "samples").iterdir()).read_text(encoding="utf-8")
    stopped = ["generate", "--run", run, "--prompt", "Document", "--stop", end]
    for how in (["--seed", 1], ["--beams", 2]):
        text = invoke(*stopped, *how)
        assert text.endswith(end + "\n") and text.count(end) == 1
    invoke("train", "--out", run, "--resume", "--quiet")


def test_a_text_with_fewer_pairs_than_asked_for_is_said_in_one_line(play, tmp_path):
    options = ["train", "--corpus", play, *SMALL[:-1], "--sample-every", 0, "--steps", 1]
    said = invoke(*options, "--out", tmp_path / "many", "--tokenizer", "bpe", "--vocab-size", 9999)
    tokens = len(training.load_run(tmp_path / "many")[1])
    line = f"no more pairs to join, so there are {tokens:,} tokens and not 9,999.\n"
    assert tokens < 9999 and said.count(line) == 1
    said = invoke(*options, "--out", tmp_path / "few", "--tokenizer", "bpe", "--vocab-size", 280)
    assert "no more pairs" not in said


def test_the_tokenizer_command_reads_the_text_once(play, tmp_path, monkeypatch):
    from tinygpt.data import corpus

    opened, original = [], corpus.text_of
    monkeypatch.setattr(corpus, "text_of", lambda source: opened.append(1) or original(source))
    text = TEXT + "<end>'s"
    play.write_text(text, encoding="utf-8")
    path = tmp_path / "tokens.json"
    said = invoke("tokenizer", path, "--corpus", play, "--vocab-size", 300, "--special", "<end>")
    tokens = len(ByteBPE.load(path).encode(text))
    assert f"the text is {tokens:,} of them, {len(text) / tokens:.2f} characters each" in said
    assert len(opened) == 1


def test_a_stop_inside_a_token_ends_the_text():
    from tinygpt.commands.generate import _until

    assert list(_until("b", iter(["a", "xby", "z"]))) == ["a", "xb"]
    assert list(_until("\n\n", iter(["a\n", "\nROM", "z"]))) == ["a\n", "\n"]
    assert list(_until(None, iter("ab"))) == ["a", "b"]
    assert list(_until("q", iter(["a", "", "b"]))) == ["a", "", "b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vocab-size", "300"], "--vocab-size goes with --tokenizer bpe; give both, or none"),
        (["--tokenizer", "none.json"], "--tokenizer must be characters, bpe, or a file that"),
        (["--tokenizer", "bpe", "--vocab-size", "9"], "--vocab-size must be an integer, 256"),
        (["--tokenizer", "{text}"], "is not whole JSON; save the tokenizer again"),
    ],
)
def test_options_that_cannot_be_used(play, tmp_path, options, message, without_type_checks):
    options = [option.format(text=play) for option in options]
    said = invoke("train", "--corpus", play, "--out", tmp_path / "run", *options, fails=True)
    assert message in said and said.count("\n") == 1


def test_the_command_says_what_is_wrong(tmp_path):
    said = invoke("tokenizer", tmp_path / "none" / "t.json", "--corpus", tmp_path, fails=True)
    assert "holds no text file" in said


def test_no_other_file_is_written_over(play, tmp_path):
    other = tmp_path / "other.py"
    other.write_text("print(1)", encoding="utf-8")
    options = ["tokenizer", "--corpus", play, "--vocab-size", 280]
    for path, message in [
        (play, f"PATH and --corpus are the same file, {play}; choose another PATH"),
        (other, f"{other} is there and is no tokenizer; choose another PATH, or remove it first"),
    ]:
        assert message in invoke(*options, path, fails=True)
    assert play.read_text(encoding="utf-8") == TEXT
    assert other.read_text(encoding="utf-8") == "print(1)"
    for _ in range(2):  # a tokenizer is
        invoke(*options, tmp_path / "tokens.json")
