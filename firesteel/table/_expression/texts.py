"""Methods of expressions that are texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table._expression.base import ExpressionBase, node_of, symbol
from firesteel.table.tree import Apply

if TYPE_CHECKING:
    from firesteel.table.expression import Expression

__all__ = ["TextExpressions"]


class TextExpressions(ExpressionBase):
    """Functions of texts and bytes."""

    @property
    def char_length(self) -> Expression:
        """How many characters the text has."""
        return self._apply("CHAR_LENGTH")

    @property
    def upper_case(self) -> Expression:
        """In capital letters."""
        return self._apply("UPPER")

    @property
    def lower_case(self) -> Expression:
        """In small letters."""
        return self._apply("LOWER")

    @property
    def init_cap(self) -> Expression:
        """Each word with a capital letter, the rest small."""
        return self._apply("INITCAP")

    @property
    def md5(self) -> Expression:
        """The MD5 hash, in hexadecimal digits."""
        return self._apply("MD5")

    @property
    def sha1(self) -> Expression:
        """The SHA-1 hash, in hexadecimal digits."""
        return self._apply("SHA1")

    @property
    def sha224(self) -> Expression:
        """The SHA-224 hash, in hexadecimal digits."""
        return self._apply("SHA224")

    @property
    def sha256(self) -> Expression:
        """The SHA-256 hash, in hexadecimal digits."""
        return self._apply("SHA256")

    @property
    def sha384(self) -> Expression:
        """The SHA-384 hash, in hexadecimal digits."""
        return self._apply("SHA384")

    @property
    def sha512(self) -> Expression:
        """The SHA-512 hash, in hexadecimal digits."""
        return self._apply("SHA512")

    @property
    def from_base64(self) -> Expression:
        """The text that was written in base64."""
        return self._apply("FROM_BASE64")

    @property
    def to_base64(self) -> Expression:
        """The text in base64."""
        return self._apply("TO_BASE64")

    @property
    def ascii(self) -> Expression:
        """The number of the first byte."""
        return self._apply("ASCII")

    @property
    def chr(self) -> Expression:
        """The character of a number."""
        return self._apply("CHR")

    @property
    def reverse(self) -> Expression:
        """The text backwards."""
        return self._apply("REVERSE")

    def sha2(self, hash_length: Any) -> Expression:
        """The SHA-2 hash of 224, 256, 384 or 512 bits."""
        return self._apply("SHA2", hash_length)

    def starts_with(self, start_expr: Any) -> Expression:
        """Whether it begins with another."""
        return self._apply("STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Expression:
        """Whether it ends with another."""
        return self._apply("ENDSWITH", end_expr)

    def like(self, pattern: Any = None, escape: Any = None) -> Expression:
        """Whether it follows a pattern with ``%`` and ``_``."""
        return self._apply_given("LIKE", pattern, escape)

    def similar(self, pattern: Any = None) -> Expression:
        """Whether it matches a regular expression of SQL."""
        return self._apply_given("SIMILAR TO", pattern)

    def substring(self, begin_index: Any, length: Any = None) -> Expression:
        """From a position on, counted from 1."""
        return self._apply_given("SUBSTRING", begin_index, length)

    def substr(self, begin_index: Any, length: Any = None) -> Expression:
        """From a position on, counted from 1."""
        return self._apply_given("SUBSTR", begin_index, length)

    def translate(self, from_str: Any, to_str: Any) -> Expression:
        """With the characters of one text replaced by those of another."""
        return self._apply("TRANSLATE", from_str, to_str)

    def replace(self, search: Any = None, replacement: Any = None) -> Expression:
        """With a part replaced, wherever it is."""
        return self._apply_given("REPLACE", search, replacement)

    def concat(self, other: Any) -> Expression:
        """With another text behind it."""
        return self._apply("CONCAT", other)

    def lpad(self, length: Any, pad: Any) -> Expression:
        """Filled up on the left to a length."""
        return self._apply("LPAD", length, pad)

    def rpad(self, length: Any, pad: Any) -> Expression:
        """Filled up on the right to a length."""
        return self._apply("RPAD", length, pad)

    def regexp(self, regex: Any) -> Expression:
        """Whether a part matches a regular expression of Java."""
        return self._apply("REGEXP", regex)

    def regexp_count(self, regex: Any) -> Expression:
        """How often a regular expression matches."""
        return self._apply("REGEXP_COUNT", regex)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Expression:
        """What a regular expression, or a group of it, matches."""
        return self._apply_given("REGEXP_EXTRACT", regex, extract_index)

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Expression:
        """All that a group of a regular expression matches."""
        return self._apply_given("REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_instr(self, regex: Any) -> Expression:
        """Where a regular expression matches first, from 1; 0 if nowhere."""
        return self._apply("REGEXP_INSTR", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Expression:
        """With all that a regular expression matches replaced."""
        return self._apply("REGEXP_REPLACE", regex, replacement)

    def regexp_substr(self, regex: Any) -> Expression:
        """What a regular expression matches first."""
        return self._apply("REGEXP_SUBSTR", regex)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Expression:
        """With another text laid over it from a position on."""
        return self._apply_given("OVERLAY", new_string, starting, length)

    def decode(self, charset: Any) -> Expression:
        """Bytes as a text."""
        return self._apply("DECODE", charset)

    def encode(self, charset: Any) -> Expression:
        """The text as bytes."""
        return self._apply("ENCODE", charset)

    def left(self, length: Any) -> Expression:
        """So many characters from the left."""
        return self._apply("LEFT", length)

    def right(self, length: Any) -> Expression:
        """So many characters from the right."""
        return self._apply("RIGHT", length)

    def instr(self, s: Any) -> Expression:
        """Where another text is in it, from 1; 0 if nowhere."""
        return self._apply("INSTR", s)

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Expression:
        """A part of a URL: HOST, PATH, QUERY, ..."""
        return self._apply_given("PARSE_URL", part_to_extract, key)

    def ltrim(self, trim_str: Any = None) -> Expression:
        """Without blanks, or some characters, on the left."""
        return self._apply_given("LTRIM", trim_str)

    def rtrim(self, trim_str: Any = None) -> Expression:
        """Without blanks, or some characters, on the right."""
        return self._apply_given("RTRIM", trim_str)

    def btrim(self, trim_str: Any = None) -> Expression:
        """Without blanks, or some characters, on both sides."""
        return self._apply_given("BTRIM", trim_str)

    def repeat(self, n: Any) -> Expression:
        """So many times."""
        return self._apply("REPEAT", n)

    def split_index(self, separator: Any, index: Any) -> Expression:
        """A part between separators, counted from 0."""
        return self._apply("SPLIT_INDEX", separator, index)

    def split(self, delimiter: Any) -> Expression:
        """The parts between delimiters, as an array."""
        return self._apply("SPLIT", delimiter)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Expression:
        """The keys and values that are written in it, as a map."""
        return self._apply_given("STR_TO_MAP", list_delimiter, key_value_delimiter)

    def printf(self, *obj: Any) -> Expression:
        """The text as a format of Java, with values put in."""
        return self._apply("PRINTF", *obj)

    def elt(self, expr: Any, *exprs: Any) -> Expression:
        """The expression of this number, from 1."""
        return self._apply("ELT", expr, *exprs)

    def url_decode(self) -> Expression:
        """The text that was written for a URL."""
        return self._apply("URL_DECODE")

    def url_encode(self) -> Expression:
        """The text as it stands in a URL."""
        return self._apply("URL_ENCODE")

    def inet_aton(self) -> Expression:
        """An address such as 127.0.0.1 as a number."""
        return self._apply("INET_ATON")

    def inet_ntoa(self) -> Expression:
        """A number as an address such as 127.0.0.1."""
        return self._apply("INET_NTOA")

    def json_quote(self) -> Expression:
        """In quotes, as a text of JSON."""
        return self._apply("JSON_QUOTE")

    def json_unquote(self) -> Expression:
        """The text that a text of JSON stands for."""
        return self._apply("JSON_UNQUOTE")

    def position(self, haystack: Any = None) -> Expression:
        """Where this text is in another, from 1; 0 if nowhere."""
        return self._apply("POSITION", haystack)

    def locate(self, s: Any, pos: Any = None) -> Expression:
        """Where this text is in another, from 1, looked for from a position on; 0 if nowhere."""
        return self._apply_given("LOCATE", s, pos)

    def trim(self, character: Any = None) -> Expression:
        """Without blanks, or a character, on both sides."""
        return self._trimmed("BOTH", character)

    def trim_leading(self, character: Any = None) -> Expression:
        """Without blanks, or a character, on the left."""
        return self._trimmed("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Expression:
        """Without blanks, or a character, on the right."""
        return self._trimmed("TRAILING", character)

    def _trimmed(self, side: str, character: Any) -> Expression:
        characters = node_of(" " if character is None else character)
        return self._new(Apply("TRIM", (symbol(side), characters, self.node)))
