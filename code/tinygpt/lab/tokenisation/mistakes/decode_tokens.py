"""Wrong versions of decoding."""

from tinygpt.lab.definitions import Mistake


def each_alone(ids, tokens):
    return "".join(tokens[id_].decode("utf-8", errors="replace") for id_ in ids)


def strict(ids, tokens):
    return b"".join(tokens[id_] for id_ in ids).decode("utf-8")


def ignored(ids, tokens):
    return b"".join(tokens[id_] for id_ in ids).decode("utf-8", errors="ignore")


def byte_as_character(ids, tokens):
    return "".join(chr(byte) for id_ in ids for byte in tokens[id_])


def with_spaces(ids, tokens):
    return b" ".join(tokens[id_] for id_ in ids).decode("utf-8", errors="replace")


def of_the_bytes_object(ids, tokens):
    return "".join(str(tokens[id_]) for id_ in ids)


def bytes_returned(ids, tokens):
    return b"".join(tokens[id_] for id_ in ids)


def counted_from_one(ids, tokens):
    return b"".join(tokens[id_ - 1] for id_ in ids).decode("utf-8", errors="replace")


def ids_as_bytes(ids, tokens):
    return bytes(ids).decode("utf-8", errors="replace")


MISTAKES = (
    Mistake(
        "ids_as_bytes",
        ids_as_bytes,
        "The tokens [b'the', b' end'] should give the text 'the end', got '\\x01\\x02'",
        "The ids themselves were read as bytes. An id is a place in the list: look up `tokens[id]` "
        "and join what stands there.",
    ),
    Mistake(
        "each_alone",
        each_alone,
        "The tokens [b'caf', b'\\xc3', b'\\xa9'] should give the text 'café', got "
        "'caf\ufffd\ufffd'",
        "Each token was made text by itself. The letter é is two bytes, and here they came in two "
        "tokens, neither of which is a character. Join all the bytes first, then decode once.",
    ),
    Mistake(
        "byte_as_character",
        byte_as_character,
        "The tokens [b'caf', b'\\xc3', b'\\xa9'] should give the text 'café', got 'cafÃ©'",
        "`chr` of a byte is Latin-1, in which every byte is a character. In UTF-8 only those "
        "below 128 are; the others belong together in groups of two to four.",
    ),
    Mistake(
        "with_spaces",
        with_spaces,
        "The tokens [b'the', b' end'] should give the text 'the end', got 'the  end'",
        "A space was put between the tokens. In this vocabulary the spaces are inside the tokens, "
        "so that nothing has to be guessed. Join with nothing in between.",
    ),
    Mistake(
        "of_the_bytes_object",
        of_the_bytes_object,
        "The tokens [b'the', b' end'] should give the text 'the end', got \"b'the'b' end'\"",
        "`str` of a bytes object is how Python shows it, with the b and the quotes. The text of "
        'bytes is `.decode("utf-8")`.',
    ),
    Mistake(
        "bytes_returned",
        bytes_returned,
        "decode_tokens should return a string, got bytes",
        "The bytes are right, and they are still bytes. The last step makes them text: "
        '`.decode("utf-8", errors="replace")`.',
    ),
    Mistake(
        "counted_from_one",
        counted_from_one,
        "The tokens [b'the', b' end'] should give the text 'the end', got '-the'",
        "An id is the place in the list, counted from 0. Subtracting 1 gives the token before, "
        "and for the id 0 the last one of all.",
    ),
    Mistake(
        "strict",
        strict,
        "decode_tokens raised UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position "
        "1: invalid start byte",
        "A model may write any ids, so the bytes need not be UTF-8. An error in the middle of "
        'generating helps nobody. `errors="replace"` writes U+FFFD for them.',
    ),
    Mistake(
        "ignored",
        ignored,
        "The tokens [b'a', b'\\xff', b'b'] should give the text 'a\ufffdb', got 'ab'",
        "The byte that is no UTF-8 vanished without a trace, and the text looks as if nothing "
        'were wrong. With `errors="replace"` the reader sees a mark where it was.',
    ),
)
