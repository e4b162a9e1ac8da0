"""What goes wrong inside, said in the words of the command line."""

import re
from collections.abc import Mapping

# Who found out: `Config: steps must be …` is about --steps, whatever Config is.
_SPEAKER = re.compile(
    r"^(?:Config|ModelConfig|GPT|MultiHeadAttention|train|load_corpus|load_run|generate"
    r"|generate_tokens|beam_search|copy_weights|ByteBPE\.(?:train|load)|write_whole"
    r"|save_huggingface|load_huggingface|load_exported): "
)


def by_option(message: str, options: Mapping[str, str]) -> str:
    """Return an error's sentence with options in place of the inner names.

    A name is one where it stands first ("steps must be …"), before a "=", or cannot be an
    English word for the underscore in it.

    Args:
        message: such as "ModelConfig: max_seq_len must be a positive integer, got 0".
        options: what each inner name is called on the command line.
    """
    said = _SPEAKER.sub("", message)
    for name, option in options.items():
        said = re.sub(rf"^{name}(?= (?:must|exceeds|is|has)\b)", option, said)
        said = re.sub(rf"(?<![\w.-]){name}=(?=[\w'\"-])", f"{option} ", said)
        if "_" in name:
            said = re.sub(rf"(?<![\w.-]){name}(?![\w.(])", option, said)
    return said
