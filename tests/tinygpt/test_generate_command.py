"""`tinygpt generate`, end to end, with a model that a few steps have trained."""

import os
import subprocess
import sys

import pytest
from tinygpt import data, models, sampling, training
from tinygpt.cli import main

COMMAND = [sys.executable, "-c", "from tinygpt.cli import main; main()"]
TEXT = "the rain in spain stays mainly in the plain.\n" * 40


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    (folder.parent / "rain.txt").write_text(TEXT, encoding="utf-8")
    corpus = data.load_corpus(str(folder.parent / "rain.txt"))
    model = models.GPT(len(corpus.vocabulary), 16, 1, 2, 16, dropout_prob=0.0, seed=0)
    config = training.Config(steps=8, batch_size=8, warmup_steps=2, eval_batches=1, device="cpu")
    training.train(model, corpus, config, folder)
    return folder


@pytest.fixture
def run(trained, monkeypatch, capsys, without_type_checks):
    """Run the command in this process; returns (exit code, output, errors)."""

    def run_command(*arguments, folder=trained):
        chosen = [] if folder is None else ["--run", str(folder)]
        monkeypatch.setattr(sys, "argv", ["tinygpt", "generate", *chosen, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run_command


def expected(trained, prompt, tokens, **options):
    """What the model writes, by the library."""
    model, vocabulary, _ = training.load_run(trained)
    [text] = sampling.generate(model, [vocabulary.encode(prompt)], tokens, **options)
    return vocabulary.decode(text.tolist())


def test_it_prints_the_prompt_and_what_follows(run, trained):
    code, out, errors = run("--prompt", "the ", "--tokens", "40", "--seed", "3")
    assert (code, errors) == (0, "")
    assert out.removesuffix("\n") == expected(trained, "the ", 40, seed=3).removesuffix("\n")


def test_options_reach_the_model(run, trained):
    options = {"temperature": 0.7, "top_k": 5, "top_p": 0.8, "seed": 1}
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    _, out, _ = run("--prompt", "rain", "--tokens", "60", *arguments)
    assert out.rstrip("\n") == expected(trained, "rain", 60, **options).rstrip("\n")
    _, greedy, _ = run("--prompt", "rain", "--tokens", "60", "--temperature", "0")
    assert greedy.rstrip("\n") == expected(trained, "rain", 60, temperature=0).rstrip("\n")
    assert greedy != out


def test_a_seed_repeats_and_none_does_not(run):
    arguments = ["--prompt", "s", "--tokens", "80"]
    one, two = (run(*arguments, "--seed", "5")[1] for _ in range(2))
    assert one == two
    assert run(*arguments)[1] != run(*arguments)[1]


def test_several_prompts_and_samples_are_told_apart(run):
    code, out, _ = run(
        "--prompt", "the", "--prompt", "in", "--samples", "2", "--tokens", "30", "--seed", "0"
    )
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("---")] == [
        f"--- {number} of 4 ---" for number in (1, 2, 3, 4)
    ]
    parts = [part.split(" ---\n", 1)[1] for part in out.split("--- ")[1:] if " ---\n" in part]
    assert [part[:2] for part in parts] == ["th", "th", "in", "in"]
    assert parts[0] != parts[1] and parts[2] != parts[3]
    _, alone, _ = run("--prompt", "the", "--tokens", "30", "--seed", "0")
    assert parts[0] == alone  # the first of a batch is what it is by itself


def test_stop_ends_the_text_after_what_is_asked_for(run):
    _, whole, _ = run("--prompt", "the", "--tokens", "200", "--seed", "0")
    stop = whole[3:].strip("\n")[20:22]
    _, out, _ = run("--prompt", "the", "--tokens", "200", "--seed", "0", "--stop", stop)
    end = whole.index(stop, 3) + len(stop)
    assert out == whole[:end] + "\n" and len(out) < len(whole)


def test_beams_search(run, trained):
    _, out, _ = run("--prompt", "the", "--tokens", "20", "--beams", "3")
    model, vocabulary, _ = training.load_run(trained)
    best = sampling.beam_search(model, vocabulary.encode("the"), 20, 3)[0]
    assert out.rstrip("\n") == vocabulary.decode(best.tokens.tolist()).rstrip("\n")
    _, ended, _ = run("--prompt", "the", "--tokens", "20", "--beams", "3", "--stop", " ")
    assert ended.count(" ") <= 1


def test_the_last_line_is_ended_once(run):
    for arguments in (["--tokens", "0", "--prompt", "the"], ["--tokens", "0", "--prompt", "in\n"]):
        _, out, _ = run(*arguments)
        assert out.endswith("\n") and not out.endswith("\n\n")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--prompt", "%"], 1, "the character '%' is not among the"),
        (["--prompt", ""], 2, "--prompt is empty; give at least one character to continue"),
        (["--stop", ""], 2, "--stop is empty"),
        (["--temperature", "-1"], 2, "-1.0 is not in the range x>=0"),
        (["--temperature", "nan"], 2, "nan is not a finite number"),
        (["--temperature", "inf"], 2, "inf is not a finite number"),
        (["--top-k", "0"], 2, "0 is not in the range x>=1"),
        (["--top-p", "1.5"], 2, "1.5 is not in the range 0<=x<=1"),
        (["--top-p", "nan"], 2, "nan is not a finite number"),
        (["--tokens", "-1"], 2, "-1 is not in the range x>=0"),
        (["--beams", "0"], 2, "0 is not in the range x>=1"),
        (["--seed", "x"], 2, "'x' is not a valid integer"),
        (["--beams", "2", "--top-p", "0.5"], 2, "--beams searches and draws nothing; leave --top"),
        (["--beams", "2", "--stop", "in"], 2, "With --beams, --stop must be a single token"),
    ],
)
def test_what_cannot_be_is_one_sentence(run, arguments, code, sentence):
    found, out, errors = run(*arguments)
    assert (found, out) == (code, "")
    assert sentence in errors and "Traceback" not in errors


def test_a_run_that_is_not_there_or_damaged_is_one_sentence(run, trained, tmp_path):
    code, out, errors = run(folder=tmp_path / "nothing")
    assert (code, out) == (1, "") and "nothing" in errors and errors.count("\n") == 1
    broken = tmp_path / "broken"
    [checkpoint] = trained.glob("checkpoint-*")
    broken.mkdir()
    for file in checkpoint.iterdir():
        (broken / file.name).write_bytes(file.read_bytes()[:100])
    code, out, errors = run(folder=broken)
    assert (code, out) == (1, "") and "damaged" in errors and errors.count("\n") == 1


@pytest.mark.slow
def test_text_arrives_through_a_pipe_while_it_is_written(trained):
    process = subprocess.Popen(
        [*COMMAND, "generate", "--run", trained, "--prompt", "rain", "--tokens", "20000"],
        stdout=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout.read(10).decode().startswith("rain")
        assert process.poll() is None  # it is still writing
        process.stdout.close()  # as `head` does
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()


@pytest.mark.slow
def test_without_a_run_the_books_model_writes(run):
    code, out, errors = run("--tokens", "50", "--temperature", "0", folder=None)
    assert (code, errors) == (0, "") and len(out) >= 50
