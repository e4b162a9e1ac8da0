"""The chapters that have exercises, in the order of the book.

To add one, write a package `tinygpt/lab/name/` that holds `CHAPTER`, on the pattern of
`tinygpt/lab/transformer/`, and list it in `CHAPTERS` below; tests hold that the two agree. The
package is imported when its chapter or one of its exercises is asked for, so it may import
PyTorch; `tinygpt.lab.measures_torch` has what checks of PyTorch answers need. The lab itself
imports NumPy and the standard library only.
"""

import importlib
from dataclasses import dataclass

from tinygpt.lab.definitions import Chapter, Exercise, LabError, pick


@dataclass(frozen=True)
class Listed:
    """What the list of chapters knows of one without importing it.

    Attributes:
        name: the chapter's name, which is also that of its package in `tinygpt.lab`.
        title: its title.
        exercises: for each exercise, in the order of the chapter, the title of its section.
    """

    name: str
    title: str
    exercises: dict[str, str]


CHAPTERS: tuple[Listed, ...] = (
    Listed(
        "tensors",
        "Tensors and automatic differentiation",
        {
            "topological_order": "Each node once",
            "backward": "Each node once",
            "unbroadcast": "Broadcasting and its gradient",
            "matmul_backward": "Matrix products",
            "numerical_gradient": "Gradients by nudging",
        },
    ),
    Listed(
        "learning",
        "Layers, losses and learning",
        {
            "cross_entropy": "From scores to a loss",
            "he_weights": "How large the weights start",
            "adamw_step": "Downhill",
            "minibatches": "Batches",
            "train_epoch": "The loop",
        },
    ),
    Listed(
        "lenet",
        "Milestone: LeNet on digits",
        {
            "im2col": "Patches as columns",
            "conv2d": "A convolution is a matrix product",
            "conv2d_weight": "The way back",
            "max_pool2d": "Pooling keeps the strongest answer",
            "confusion_matrix": "What it confuses",
        },
    ),
    Listed(
        "tokenisation",
        "Tokenisation",
        {
            "count_pairs": "Counting neighbours",
            "merge_pair": "Joining a pair",
            "learn_merges": "Training, merge by merge",
            "merge_by_rank": "Encoding",
            "decode_tokens": "Decoding and broken bytes",
            "split_special": "Special tokens",
        },
    ),
    Listed(
        "embeddings",
        "Embeddings and positions",
        {
            "embedding_lookup": "Backwards: rows that add up",
            "nearest_rows": "What a row learns",
            "sinusoidal": "Waves: sinusoidal positions",
            "rotary": "Turning instead of adding: rotary positions",
        },
    ),
    Listed(
        "attention",
        "Attention",
        {
            "soft_lookup": "One query by hand",
            "scaled_scores": "Why divide by the root of the width",
            "masked_softmax": "What a query may not see",
            "attend_in_heads": "Many heads",
            "multi_head_attention": "Asking another sequence",
        },
    ),
    Listed(
        "transformer",
        "The Transformer",
        {
            "layer_norm": "Layer normalisation",
            "causal_mask": "Attention that looks back",
            "mlp": "The MLP",
            "transformer_block": "The residual stream and the block",
            "generate": "Generating text",
        },
    ),
    Listed(
        "gpt",
        "The GPT in PyTorch",
        {
            "causal_attention": "Attention, written out and fused",
            "init_weights": "How small the weights start",
            "gpt_model": "The whole decoder",
            "tie_weights": "Weight tying",
            "count_parameters": "Counting",
        },
    ),
    Listed(
        "shakespeare",
        "Milestone: TinyGPT on Shakespeare",
        {
            "get_batch": "Windows and targets",
            "bigram_loss": "What counting achieves",
            "estimate_loss": "Measuring without disturbing",
            "learning_rate": "The learning rate",
            "train_step": "One step",
        },
    ),
    Listed(
        "decoding",
        "Decoding",
        {
            "temperature": "Temperature",
            "top_k": "Top-k",
            "top_p": "Top-p",
            "beam_search": "Beam search",
        },
    ),
)


def find_chapter(name: object) -> Chapter:
    """Return the chapter of this name.

    Raises:
        LabError: there is none, and the sentence lists those there are; or it needs PyTorch,
            which is not installed.
    """
    listed = {chapter.name: chapter for chapter in CHAPTERS}[pick("chapter", name, _names())]
    try:
        return importlib.import_module(f"tinygpt.lab.{listed.name}").CHAPTER
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise LabError(
            f"The exercises of {listed.title} need PyTorch, which is not installed here; "
            "`pip install torch` installs it"
        ) from None


def find_exercise(name: object, chapter: Chapter | None = None) -> Exercise:
    """Return the exercise of this name, in one chapter or in all.

    Raises:
        LabError: there is none; the sentence lists those there are.
    """
    if chapter is None:
        homes = {exercise: one.name for one in CHAPTERS for exercise in one.exercises}
        chapter = find_chapter(homes[pick("exercise", name, homes)])
    by_name = {exercise.name: exercise for exercise in chapter.exercises}
    return by_name[pick("exercise", name, by_name)]


def chapter_of(exercise: Exercise) -> Chapter:
    """Return the chapter that an exercise belongs to."""
    name = next(chapter.name for chapter in CHAPTERS if exercise.name in chapter.exercises)
    return find_chapter(name)


def _names() -> list[str]:
    return [chapter.name for chapter in CHAPTERS]
