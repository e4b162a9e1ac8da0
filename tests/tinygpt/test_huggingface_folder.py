"""A GPT as a folder in the layout of Hugging Face: written, read, and read by transformers."""

import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from oracle import examples
from tinygpt import data, models, training
from tinygpt.commands import tinygpt
from tinygpt.data.exported import tokenizer_json
from tinygpt.models import GPT, load_huggingface, save_huggingface, weights
from tinygpt.tokenizers import ByteBPE

SHAPE = (19, 16, 2, 4, 12)
TOKENS = torch.tensor(np.random.default_rng(0).integers(0, 19, (3, 12)))
TEXT = "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak.\n"


def model(tie=True, exact=False, seed=1):
    made = GPT(*SHAPE, dropout_prob=0.25, tie_weights=tie, exact_gelu=exact, seed=seed).eval()
    with torch.no_grad():
        for parameter in made.parameters():  # biases too, and large enough for the GELU to show
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return made


@pytest.fixture
def folder(tmp_path):
    save_huggingface(tmp_path / "gpt", model())
    return tmp_path / "gpt"


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("exact", [True, False])
def test_what_is_read_is_what_was_written_to_the_bit(tmp_path, tie, exact):
    before = model(tie, exact)
    save_huggingface(tmp_path / "a" / "gpt", before)
    after = load_huggingface(tmp_path / "a" / "gpt")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["gpt"]
    assert not after.training and after.dropout.p == 0.25 and after.exact_gelu == exact
    assert (after.head.weight is after.token_embedding.weight) == tie
    assert weights(before).keys() == weights(after).keys()
    assert all(torch.equal(weights(before)[name], value) for name, value in weights(after).items())
    assert torch.equal(before(TOKENS), after(TOKENS))


@pytest.mark.slow
@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("exact", [True, False])
def test_transformers_reads_what_is_written_and_writes_what_is_read(tmp_path, tie, exact):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    before = model(tie, exact)
    save_huggingface(tmp_path / "gpt", before)
    theirs, said = transformers.GPT2LMHeadModel.from_pretrained(
        tmp_path / "gpt", output_loading_info=True
    )
    assert not any(said[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert theirs.config.eos_token_id is None and theirs.config.attn_pdrop == 0.25
    with torch.no_grad():
        torch.testing.assert_close(theirs.eval()(TOKENS).logits, before(TOKENS))
    theirs.save_pretrained(tmp_path / "theirs")
    after = load_huggingface(tmp_path / "theirs")
    assert torch.equal(before(TOKENS), after(TOKENS))


@pytest.mark.slow
def test_transformers_reads_the_tokenizer_of_an_export(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    ours, vocabulary, _ = training.pretrained()
    training.export_huggingface(tmp_path / "gpt", ours, vocabulary)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "gpt")
    ids = theirs(TEXT)["input_ids"]
    assert ids == vocabulary.encode(TEXT).tolist()
    assert theirs.decode(ids) == TEXT


VOCABULARIES = {
    "characters": data.CharVocabulary(TEXT + "éß→🙂\t  "),
    "bytes": ByteBPE.train(TEXT * 3, 300),
    "special tokens": ByteBPE.train(TEXT * 3, 300, ["<|end|>", "<|start|>"]),
}


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES)
@examples
@given(st.data())
def test_the_tokenizers_library_gives_the_same_ids(vocabulary, data):
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    known = getattr(vocabulary, "characters", None)
    letters = st.sampled_from(known) if known else st.characters(exclude_categories=["Cs"])
    text = (
        data.draw(st.text(letters))
        + TEXT
        + data.draw(st.sampled_from(["", "<|end|>"][: 1 if known else 2]))
    )
    theirs = tokenizers.Tokenizer.from_str(tokenizer_json(vocabulary))
    ids = vocabulary.encode(text).tolist()
    assert theirs.encode(text).ids == ids
    assert theirs.decode(ids, skip_special_tokens=False) == text
    assert theirs.get_vocab_size() == len(vocabulary)


def edit(**entries):
    def change(folder):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | entries))

    return change


def edit_weights(change):
    def edited(folder):
        from safetensors.torch import load_file, save_file

        path = folder / "model.safetensors"
        save_file(change(load_file(path)), path)

    return edited


def replace_weights(name, content=b"x"):
    def change(folder):
        (folder / "model.safetensors").unlink()
        (folder / name).write_bytes(content)

    return change


WRONG = {
    "has no config.json": lambda f: (f / "config.json").unlink(),
    "config.json' is not a whole JSON object": lambda f: (f / "config.json").write_text("{"),
    "is not a whole JSON object; write": lambda f: (f / "config.json").write_text("[1]"),
    "is not a whole JSON": lambda f: (f / "config.json").write_bytes(b"\xff\xfe"),
    'model_type in .* must be "gpt2", got \'llama\'': edit(model_type="llama"),
    'activation_function in .* must be "gelu_new" or "gelu_pytorch_tanh" or "gelu", got \'relu\'':
        edit(activation_function="relu"),
    "activation_function in .* got \\['gelu'\\]": edit(activation_function=["gelu"]),
    "n_layer in .* must be a positive integer, got None": edit(n_layer=None),
    "n_embd in .* must be a positive integer, got str '16'": edit(n_embd="16"),
    "n_inner in .* must be null or 64, got 32": edit(n_inner=32),
    "layer_norm_epsilon in .* must be 1e-05, got 0.1": edit(layer_norm_epsilon=0.1),
    "scale_attn_by_inverse_layer_idx in .* must be false, got True":
        edit(scale_attn_by_inverse_layer_idx=True),
    "by the config wte.weight must have shape \\(1000000000000, 16\\), got \\(19, 16\\)":
        edit(vocab_size=10**12),
    "by the config there must be 1,000,000,000 blocks, got weights of 2": edit(n_layer=10**9),
    "by the config lm_head.weight must have shape \\(19, 16\\), got none":
        edit(tie_word_embeddings=False),
    "holds no GPT-2 as it is here; MultiHeadAttention: num_heads=3 does not": edit(n_head=3),
    "holds no GPT-2 as it is here; GPT: tie_weights must be a bool": edit(tie_word_embeddings="x"),
    "holds no GPT-2 as it is here; GPT: dropout_prob must be": edit(resid_pdrop=2),
    "state lacks transformer.h.1.ln_1.bias": edit_weights(
        lambda s: {n: v for n, v in s.items() if n != "transformer.h.1.ln_1.bias"}
    ),
    "transformer.h.0.ln_1.bias must have shape \\(16,\\), got \\(3,\\)": edit_weights(
        lambda s: s | {"transformer.h.0.ln_1.bias": torch.zeros(3)}
    ),
    "must be floats of shape": edit_weights(
        lambda s: s | {"transformer.h.0.ln_1.bias": torch.zeros(16, dtype=torch.int64)}
    ),
    "is not a whole safetensors file": replace_weights("model.safetensors"),
    "pytorch_model.bin in .* is a pickle, which can run code": replace_weights("pytorch_model.bin"),
    "are in several files; save them in one": replace_weights("model.safetensors.index.json"),
    "has no model.safetensors": lambda f: (f / "model.safetensors").unlink(),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_a_folder_that_cannot_be_read_says_why(without_type_checks, folder, message):
    WRONG[message](folder)
    with pytest.raises((ValueError, FileNotFoundError), match=message) as caught:
        load_huggingface(folder)
    assert str(caught.value).startswith("load_huggingface: ") and "\n" not in str(caught.value)


def test_a_flipped_bit_is_named(folder):
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not what was written"):
        load_huggingface(folder)


def test_names_without_transformer_are_read(folder):
    before = weights(load_huggingface(folder))
    edit_weights(lambda s: {n.removeprefix("transformer."): v for n, v in s.items()})(folder)
    after = weights(load_huggingface(folder))
    assert all(torch.equal(before[name], value) for name, value in after.items())


def test_nothing_that_is_there_is_overwritten(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, message in (("full", "is not empty; choose another"), ("file", "is no folder")):
        with pytest.raises(FileExistsError, match=message):
            save_huggingface(tmp_path / name, model())
    assert (tmp_path / "full" / "diary.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    save_huggingface(tmp_path / "empty", model())
    load_huggingface(tmp_path / "empty")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file", "full"]


def test_an_interruption_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "No space")))
    with pytest.raises(OSError, match="save_huggingface: could not write .*: No space"):
        save_huggingface(tmp_path / "gpt", model())
    assert list(tmp_path.iterdir()) == []


def test_wrong_arguments_are_named(without_type_checks, tmp_path):
    for call, message in (
        (lambda: save_huggingface(None, model()), "save_huggingface: folder must be a string"),
        (lambda: save_huggingface(tmp_path / "a", {}), "save_huggingface: model must be a GPT"),
        (lambda: load_huggingface(3), "load_huggingface: folder must be a string or a Path"),
        (lambda: tokenizer_json("abc"), "tokenizer_json: vocabulary must be a CharVocabulary or"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(FileNotFoundError, match="load_huggingface: there is no folder"):
        load_huggingface(tmp_path / "none")


def run(*arguments):
    return CliRunner().invoke(tinygpt, [str(argument) for argument in arguments])


def test_the_command_exports_a_model_that_generates_the_same(tmp_path):
    done = run("export", "--to", "huggingface", tmp_path / "gpt")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == f"Next: tinygpt generate --run {tmp_path / 'gpt'}"
    same = ("--tokens", 20, "--seed", 3)
    expected = run("generate", *same)
    assert expected.exit_code == 0
    assert run("generate", "--run", tmp_path / "gpt", *same).output == expected.output
    again = run("export", "--to", "huggingface", tmp_path / "gpt")
    assert again.exit_code == 1
    assert (
        again.output
        == f"Error: the folder {str(tmp_path / 'gpt')!r} is not empty; choose another\n"
    )


def test_the_commands_say_what_is_wrong(tmp_path, folder):
    for arguments, message in (
        (("export", tmp_path / "b"), "Missing option '--to'"),
        (("export", "--to", "onnx", tmp_path / "b"), "Invalid value for '--to'"),
        (("export", "--to", "huggingface", tmp_path / "b", "--run", "none"), "is not there"),
        (("generate", "--run", folder), "has no vocabulary.json, which `tinygpt export` writes"),
    ):  # fmt: skip
        done = run(*arguments)
        assert done.exit_code != 0 and message in done.output, done.output
    (folder / "vocabulary.json").write_text(data.CharVocabulary("abc").to_json())
    assert "has 3 tokens, but the model 19" in run("generate", "--run", folder).output
    (folder / "vocabulary.json").write_text("{}")
    assert "vocabulary.json' is damaged: " in run("generate", "--run", folder).output


def test_the_shipped_model_goes_out_and_comes_back(tmp_path):
    ours, vocabulary, _ = training.pretrained()
    training.export_huggingface(tmp_path / "gpt", ours, vocabulary)
    back, words = training.load_exported(tmp_path / "gpt")
    assert words.to_json() == vocabulary.to_json()
    assert all(torch.equal(models.weights(ours)[n], v) for n, v in models.weights(back).items())
