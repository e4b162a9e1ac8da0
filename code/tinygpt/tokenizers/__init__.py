"""Text as numbers: byte-level BPE, trained, kept, and applied to texts of any length.

`ByteBPE.train(text, 512)` learns a vocabulary; `encode` and `decode` go to numbers and back,
`encode_stream` does it for a text that does not fit into memory. NumPy and the standard
library are all that it needs.
"""

from tinygpt.tokenizers.alphabet import visible
from tinygpt.tokenizers.bpe import ByteBPE
from tinygpt.tokenizers.merging import count_pairs, learn_merges, merge_by_rank, merge_pair
from tinygpt.tokenizers.splitting import pretokenize, pretokenize_stream

__all__ = [
    "ByteBPE",
    "count_pairs",
    "learn_merges",
    "merge_by_rank",
    "merge_pair",
    "pretokenize",
    "pretokenize_stream",
    "visible",
]
