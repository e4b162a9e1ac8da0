"""Corpora, characters as numbers, and batches to train on.

`load_corpus` reads Shakespeare or any text of yours, numbers its characters and splits
them. `random_batch` draws from them for training, `sequential_batches` goes through all
of them for an exact loss, and `ngram_loss` says what counting achieves. Everything works
on memory-mapped arrays too. `load_digits` gives small images to learn before there is text.
"""

from tinygpt.data.batches import random_batch, sequential_batches, train_val_split
from tinygpt.data.corpora import shakespeare, tinyshakespeare
from tinygpt.data.corpus import Corpus, load_corpus
from tinygpt.data.counts import ngram_loss
from tinygpt.data.digits import Digits, Examples, load_digits
from tinygpt.data.files import DataError, data_dir, write_atomically
from tinygpt.data.vocabulary import CharVocabulary, Vocabulary, vocabulary_from_json

__all__ = [
    "CharVocabulary",
    "Corpus",
    "DataError",
    "Vocabulary",
    "Digits",
    "Examples",
    "data_dir",
    "load_corpus",
    "load_digits",
    "ngram_loss",
    "random_batch",
    "sequential_batches",
    "shakespeare",
    "tinyshakespeare",
    "train_val_split",
    "vocabulary_from_json",
    "write_atomically",
]
