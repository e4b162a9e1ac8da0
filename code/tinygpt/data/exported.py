"""A vocabulary as Hugging Face's tokenizer.json.

Source: tokenizers, the JSON that `Tokenizer.from_file` reads.
"""

import json
from typing import Any

from tinygpt.data.vocabulary import CharVocabulary, Vocabulary
from tinygpt.tokenizers import ByteBPE
from tinygpt.tokenizers.alphabet import visible
from tinygpt.validate import describe


def tokenizer_json(vocabulary: Vocabulary) -> str:
    """Return the tokenizer.json that gives every text the ids which the vocabulary gives it.

    A character that a vocabulary of characters does not have is an error here, and is left out
    by Hugging Face's library.

    Raises:
        TypeError: when it is no vocabulary.
    """
    if isinstance(vocabulary, CharVocabulary):
        parts = _of_characters(vocabulary)
    elif isinstance(vocabulary, ByteBPE):
        parts = _of_bytes(vocabulary)
    else:
        raise TypeError(
            "tokenizer_json: vocabulary must be a CharVocabulary or a ByteBPE, got "
            f"{describe(vocabulary)}"
        )
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": []}
    whole |= {"normalizer": None, "post_processor": None}
    return json.dumps(whole | parts, indent=1, ensure_ascii=False) + "\n"


def _of_characters(vocabulary: CharVocabulary) -> dict[str, Any]:
    """BPE without a merge: every character by itself."""
    ids = {character: id_ for id_, character in enumerate(vocabulary.characters)}
    return {"model": _bpe(ids, []), "pre_tokenizer": None, "decoder": {"type": "Fuse"}}


def _of_bytes(vocabulary: ByteBPE) -> dict[str, Any]:
    specials = vocabulary.special_tokens
    names = [*specials, *(visible(token) for token in vocabulary.tokens[len(specials) :])]
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,  # the pattern of GPT-2
    }
    alone = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        "added_tokens": [
            {"id": id_, "content": token, **alone, "special": True}
            for id_, token in enumerate(specials)
        ],
        "model": _bpe(
            {name: id_ for id_, name in enumerate(names)},
            [[names[left], names[right]] for left, right in vocabulary.merges],
        ),
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
    }


def _bpe(ids: dict[str, int], merges: list[list[str]]) -> dict[str, Any]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": ids,
        "merges": merges,
    }
