"""What is inside quotes: the value of strings, names and bytes. Wrong ones raise ValueError with the reason."""

from __future__ import annotations

import codecs
import re

_SIMPLE_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


def plain_string(image: str) -> str:
    """The value of ``'it''s'``."""
    return image[1:-1].replace("''", "'")


def quoted_name(image: str) -> str:
    """The value of a name between back-ticks."""
    return image[1:-1].replace("``", "`")


def prefixed_string(image: str) -> tuple[str, str]:
    """Character set and value of ``_UTF8'...'`` or ``N'...'``."""
    quote = image.index("'")
    prefix, value = image[:quote], plain_string(image[quote:])
    character_set = "ISO-8859-1" if prefix.upper() == "N" else prefix[1:]
    try:
        value.encode(codecs.lookup(character_set).name)
    except LookupError:
        raise ValueError(f"{character_set} is not a known character set") from None
    except UnicodeError:
        raise ValueError(f"the text has characters that {character_set} does not have") from None
    return character_set, value


def unicode_escape_character(text: str) -> str:
    """The character of a UESCAPE clause."""
    if len(text) != 1 or text in "0123456789abcdefABCDEF+\"' \t\n\r\f":
        raise ValueError("UESCAPE needs one character that is no blank, quote, plus or hexadecimal digit")
    return text


def unescape_unicode(text: str, escape: str) -> str:
    r"""Replace ``\0041`` by what it stands for; an escape character is written twice."""
    found = []
    offset = 0
    while offset < len(text):
        if text[offset] != escape:
            found.append(text[offset])
            offset += 1
        elif text[offset + 1 : offset + 2] == escape:
            found.append(escape)
            offset += 2
        else:
            digits = text[offset + 1 : offset + 5]
            if not re.fullmatch("[0-9a-fA-F]{4}", digits):
                raise ValueError(f"{escape}{digits} is not an escape: four hexadecimal digits are needed")
            found.append(chr(int(digits, 16)))
            offset += 5
    return "".join(found)


def escaped_string(image: str) -> str:
    r"""The value of ``E'a\nb'``."""

    def replace(match: re.Match[str]) -> str:
        octal, hexadecimal, short, long, other = match.groups()
        if octal is not None:
            return chr(int(octal, 8))
        digits = hexadecimal or short or long
        if digits is not None:
            if int(digits, 16) > 0x10FFFF:
                raise ValueError(f"{match.group()} is no character")
            return chr(int(digits, 16))
        if other in "uUx":
            raise ValueError(f"{match.group()} is not an escape: hexadecimal digits are needed")
        return _SIMPLE_ESCAPES.get(other, other)

    return _ESCAPE.sub(replace, image[2:-1].replace("''", "'"))


def hexadecimal_digits(text: str) -> str:
    """The digits of ``x'...'``, checked."""
    if not re.fullmatch("[0-9a-fA-F]*", text):
        raise ValueError(f"{text} are not hexadecimal digits")
    return text
