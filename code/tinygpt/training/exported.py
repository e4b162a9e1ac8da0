"""A trained model with its vocabulary as a folder in the layout of Hugging Face.

config.json, model.safetensors    what `transformers.GPT2LMHeadModel.from_pretrained` reads
tokenizer.json, …_config.json     what `transformers.AutoTokenizer.from_pretrained` reads
vocabulary.json                   the same vocabulary, as `load_exported` reads it
"""

import json
import os

from tinygpt.data import Vocabulary, vocabulary_from_json
from tinygpt.data.exported import tokenizer_json
from tinygpt.files import checked_path
from tinygpt.models import GPT, load_huggingface, save_huggingface

_VOCABULARY = "vocabulary.json"


def export_huggingface(folder: str | os.PathLike, model: GPT, vocabulary: Vocabulary):
    """Write a model and its vocabulary to a new folder, whole or not at all.

    Raises:
        TypeError: when folder is no path, model no GPT or vocabulary none.
        OSError: when the folder is not empty or cannot be written.
    """
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": getattr(model, "max_seq_len", None),
        "clean_up_tokenization_spaces": False,
    }
    texts = {
        "tokenizer.json": tokenizer_json(vocabulary),
        "tokenizer_config.json": json.dumps(settings, indent=2) + "\n",
        _VOCABULARY: vocabulary.to_json() + "\n",
    }
    save_huggingface(folder, model, texts)


def load_exported(folder: str | os.PathLike) -> tuple[GPT, Vocabulary]:
    """Return the model, in evaluation mode, and the vocabulary of an exported folder.

    Raises:
        FileNotFoundError: when a file is missing.
        ValueError: when one is damaged, or the vocabulary is not the model's.
    """
    model = load_huggingface(folder)
    path = checked_path("load_exported", folder, "folder") / _VOCABULARY
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"load_exported: the folder {str(folder)!r} has no {_VOCABULARY}, which "
            "`tinygpt export` writes; load_huggingface reads the model without one"
        )
    try:
        vocabulary = vocabulary_from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"load_exported: {str(path)!r} is damaged: {error}") from None
    if len(vocabulary) != model.vocab_size:
        raise ValueError(
            f"load_exported: {str(path)!r} has {len(vocabulary):,} tokens, but the model "
            f"{model.vocab_size:,}"
        )
    return model, vocabulary
