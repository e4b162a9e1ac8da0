"""Where a text is cut: GPT-2's pattern, against Hugging Face's, on all of Unicode."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tinygpt.tokenizers import pretokenize
from tokenizers import pre_tokenizers

ORACLE = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def oracle(text):
    return [text[start:end] for _, (start, end) in ORACLE.pre_tokenize_str(text)]


def assert_cut_alike(context, codes):
    # Separated by a line's end and a mark, which no class joins across.
    text = "\n|".join(context.format(chr(c)) for c in codes if not 0xD800 <= c < 0xE000)
    assert pretokenize(text) == oracle(text)


def test_every_character_of_the_basic_plane():
    assert_cut_alike("a{0}1{0}.{0} {0}", range(0x10000))


def test_characters_above_it():
    assert_cut_alike("a{0}1{0}.", range(0x10000, 0x33480, 11))


@pytest.mark.slow
@pytest.mark.parametrize("context", ["a{0}1{0}.{0} {0}{0}a", " {0}", "{0} 's{0}"])
def test_every_character_in_every_context(context):
    for first in range(0, 0x110000, 0x8000):
        assert_cut_alike(context, range(first, first + 0x8000))


@settings(deadline=None, max_examples=300)
@given(
    st.one_of(
        st.text(),
        st.text(alphabet="ab12 're'll'sT'\n\t\r\x1c\x85\u00a0\u2003\u3000½²Ⅷé漢ा_-.🚀𝟘𠀀"),
    )
)
@example("a  b")
@example("they're 'RE it's'   's \n\n  x \t")
@example("\x1c\x1d\x1e\x1f")
def test_any_text_is_cut_as_hugging_face_cuts_it(text):
    assert pretokenize(text) == oracle(text)


@given(st.text())
def test_the_pieces_joined_are_the_text(text):
    assert "".join(pretokenize(text)) == text


def test_half_a_character_is_one_clear_sentence():
    with pytest.raises(ValueError, match=r"text holds '\\ud83d', half a character; read it as"):
        pretokenize("a\ud83d")
