"""Texts: every function of one, and of bytes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import ipaddress
import json
import re
import urllib.parse
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from firesteel.errors import FiresteelError
from firesteel.table.functions.definition import Call, Function, call_error, register
from firesteel.table.functions.java_format import java_format
from firesteel.table.functions.java_regex import compile_java
from firesteel.table.functions.json_text import quoted
from firesteel.table.functions.signatures import (
    ANY,
    BYTES,
    INTEGER,
    STRING,
    TEXT,
    Check,
    check_arguments,
    gives,
    gives_nullable,
    scalar,
)
from firesteel.table.types import (
    BinaryType,
    CharType,
    DataType,
    DataTypes,
    LengthType,
    VarBinaryType,
    VarCharType,
    common_type,
    is_number,
    is_text,
)

__all__: list[str] = []

INT = DataTypes.INT()
BOOLEAN_RESULT = gives(DataTypes.BOOLEAN())
_NULLABLE_STRING = gives_nullable(STRING)
_STRING = gives(STRING)


def _of_first(call: Call) -> DataType:
    return call.types[0].with_nullability(call.nullable)


def _length(data_type: DataType) -> int:
    return data_type.length if isinstance(data_type, LengthType) else STRING.length


def _varying(call: Call) -> DataType:
    """As long as the first argument at most."""
    return VarCharType(_length(call.types[0]), call.nullable)


def _varying_nullable(call: Call) -> DataType:
    return VarCharType(_length(call.types[0]))


# || and CONCAT


def _infer_concat_operator(call: Call) -> DataType:
    texts_or_bytes: Check = ("a text or bytes", lambda t: TEXT[1](t) or BYTES[1](t))
    check_arguments(call, (texts_or_bytes, texts_or_bytes))
    left, right = call.types
    fixed, varying = (CharType, VarCharType) if is_text(left) else (BinaryType, VarBinaryType)
    total = sum(each.length if isinstance(each, LengthType) else 1 for each in (left, right))
    both_fixed = isinstance(left, fixed) and isinstance(right, fixed)
    kind: Callable[..., DataType] = fixed if both_fixed else varying
    return kind(min(total, STRING.length), call.nullable)


register(Function("||", _infer_concat_operator, lambda call: lambda a, b: a + b))
scalar("CONCAT", (TEXT,), _STRING, lambda *parts: "".join(parts), repeat=True)


def _concat_ws(separator: str | None, *parts: str | None) -> str | None:
    return None if separator is None else separator.join(part for part in parts if part is not None)


scalar(
    "CONCAT_WS",
    (TEXT, TEXT),
    _STRING,
    _concat_ws,
    repeat=True,
    strict=False,
)

# Length, case, position

scalar("CHAR_LENGTH", (TEXT,), gives(INT), len, aliases=("CHARACTER_LENGTH", "CHARLENGTH"))
scalar("UPPER", (TEXT,), _of_first, lambda text: text.upper(), aliases=("UPPERCASE",))
scalar("LOWER", (TEXT,), _of_first, lambda text: text.lower(), aliases=("LOWERCASE",))
scalar("POSITION", (TEXT, TEXT), gives(INT), lambda part, text: text.find(part) + 1)


def _locate(part: str, text: str, start: int = 1) -> int:
    return text.find(part, max(start - 1, 0)) + 1


def _instr(text: str, part: str, start: int = 1, times: int = 1) -> int:
    """The `times`-th place of a part, from a position on; from the end if that is negative."""
    if start == 0 or times < 1:
        return 0
    if start > 0:
        found = start - 2
        for _ in range(times):
            found = text.find(part, found + 1)
            if found < 0:
                return 0
        return found + 1
    end = len(text) + start + 1
    found = end
    for _ in range(times):
        found = text.rfind(part, 0, found - 1 + len(part)) if found > 0 else -1
        if found < 0:
            return 0
    return found + 1


scalar("LOCATE", (TEXT, TEXT, INTEGER), gives(INT), _locate, least=2)
scalar("INSTR", (TEXT, TEXT, INTEGER, INTEGER), gives(INT), _instr, least=2)
scalar("STARTSWITH", (ANY, ANY), BOOLEAN_RESULT, lambda text, part: text.startswith(part))
scalar("ENDSWITH", (ANY, ANY), BOOLEAN_RESULT, lambda text, part: text.endswith(part))


def _initcap(text: str) -> str:
    result, inside = [], False
    for char in text:
        if char.isascii() and char.isalnum():
            result.append(char.lower() if inside else char.upper())
            inside = True
        else:
            result.append(char)
            inside = False
    return "".join(result)


scalar("INITCAP", (TEXT,), _of_first, _initcap)
scalar("REVERSE", (TEXT,), _NULLABLE_STRING, lambda text: text[::-1])
scalar("ASCII", (TEXT,), gives(INT), lambda text: (text.encode("utf-8")[0] ^ 0x80) - 0x80 if text else 0)
scalar(
    "CHR", (INTEGER,), _NULLABLE_STRING, lambda code: "" if code < 0 else "\0" if code & 0xFF == 0 else chr(code & 0xFF)
)

# Parts


def _substring(text: str, start: int, length: int | None = None) -> str | None:
    """From a position on, counted from the end if it is negative; nothing if that is before the beginning."""
    if length is not None and length < 0:
        return None
    begin = start - 1 if start > 0 else 0 if start == 0 else len(text) + start
    return "" if begin < 0 else text[begin : None if length is None else begin + length]


scalar("SUBSTRING", (TEXT, INTEGER, INTEGER), _varying_nullable, _substring, least=2)
scalar("SUBSTR", (TEXT, INTEGER, INTEGER), _varying_nullable, _substring, least=2)
scalar("LEFT", (TEXT, INTEGER), _varying_nullable, lambda text, count: text[: max(count, 0)])
scalar(
    "RIGHT",
    (TEXT, INTEGER),
    _varying_nullable,
    lambda text, count: text[max(len(text) - count, 0) :] if count > 0 else "",
)


def _overlay(text: str, part: str, start: int, length: int | None = None) -> str:
    if start <= 0 or start > len(text):
        return text
    replaced = len(part) if length is None else length
    end = start - 1 + replaced
    return text[: start - 1] + part + (text[end:] if replaced > 0 and end <= len(text) else "")


def _overlay_type(call: Call) -> DataType:
    return VarCharType(min(_length(call.types[0]) + _length(call.types[1]), STRING.length), call.nullable)


scalar("OVERLAY", (TEXT, TEXT, INTEGER, INTEGER), _overlay_type, _overlay, least=3)
scalar("REPEAT", (TEXT, INTEGER), _STRING, lambda text, count: text * count)
scalar("REPLACE", (TEXT, TEXT, TEXT), _STRING, lambda text, old, new: text.replace(old, new))


def _translate(text: str | None, source: str | None, target: str | None) -> str | None:
    if text is None or source is None:
        return text
    target = target or ""
    table: dict[int, str | None] = {}
    for position, char in enumerate(source):
        table.setdefault(ord(char), target[position] if position < len(target) else None)
    return text.translate(table)


scalar(
    "TRANSLATE",
    (TEXT, TEXT, TEXT),
    lambda call: STRING.with_nullability(call.types[0].is_nullable),
    _translate,
    strict=False,
    aliases=("TRANSLATE3",),
)


def _pad(left: bool) -> Callable[[str, int, str], str | None]:
    def pad(text: str, length: int, filling: str) -> str | None:
        if length < 0 or (filling == "" and length > len(text)):
            return None
        missing = length - len(text)
        if missing <= 0:
            return text[:length]
        added = (filling * (missing // len(filling) + 1))[:missing]
        return added + text if left else text + added

    return pad


scalar("LPAD", (TEXT, INTEGER, TEXT), _STRING, _pad(left=True))
scalar("RPAD", (TEXT, INTEGER, TEXT), _STRING, _pad(left=False))


# TRIM


def _trim(side: str, characters: str, text: str) -> str:
    if side != "TRAILING":
        text = text.lstrip(characters) if characters else text
    if side != "LEADING":
        text = text.rstrip(characters) if characters else text
    return text


def _infer_trim(call: Call) -> DataType:
    check_arguments(call, (ANY, TEXT, TEXT))
    third = call.types[2]
    length = third.length if isinstance(third, LengthType) else STRING.length
    return VarCharType(length, call.nullable)


register(Function("TRIM", _infer_trim, lambda call: _trim))
scalar("LTRIM", (TEXT, TEXT), _varying, lambda text, chars=" ": _trim("LEADING", chars, text), least=1)
scalar("RTRIM", (TEXT, TEXT), _varying, lambda text, chars=" ": _trim("TRAILING", chars, text), least=1)
scalar("BTRIM", (TEXT, TEXT), _STRING, lambda text, chars=" ": _trim("BOTH", chars, text), least=1)

# Regular expressions: what is none gives NULL, or false


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return compile_java(text)
    except re.error:
        return None


def _regexp(text: str, pattern: str) -> bool:
    compiled = _pattern(pattern)
    return pattern != "" and compiled is not None and compiled.search(text) is not None


def _regexp_replace(text: str, pattern: str, replacement: str) -> str | None:
    compiled = _pattern(pattern)
    return None if compiled is None else compiled.sub(lambda match: replacement, text)


def _regexp_extract(text: str, pattern: str, group: int = 0) -> str | None:
    compiled = _pattern(pattern)
    match = None if compiled is None else compiled.search(text)
    if match is None or not 0 <= group <= match.re.groups:
        return None
    found: str | None = match.group(group)
    return found


def _regexp_extract_all(text: str, pattern: str, group: int = 1) -> tuple[Any, ...] | None:
    compiled = _pattern(pattern)
    if compiled is None or not 0 <= group <= compiled.groups:
        return None
    return tuple(match.group(group) for match in compiled.finditer(text))


def _regexp_count(text: str, pattern: str) -> int | None:
    compiled = _pattern(pattern)
    return None if compiled is None else sum(1 for _ in compiled.finditer(text))


def _regexp_instr(text: str, pattern: str) -> int | None:
    compiled = _pattern(pattern)
    if compiled is None:
        return None
    match = compiled.search(text)
    return 0 if match is None else match.start() + 1


scalar("REGEXP", (TEXT, TEXT), BOOLEAN_RESULT, _regexp)
scalar("REGEXP_REPLACE", (TEXT, TEXT, TEXT), _STRING, _regexp_replace)
scalar("REGEXP_EXTRACT", (TEXT, TEXT, INTEGER), _NULLABLE_STRING, _regexp_extract, least=2)
scalar(
    "REGEXP_EXTRACT_ALL", (TEXT, TEXT, INTEGER), gives_nullable(DataTypes.ARRAY(STRING)), _regexp_extract_all, least=2
)
scalar("REGEXP_COUNT", (TEXT, TEXT), gives_nullable(INT), _regexp_count)
scalar("REGEXP_INSTR", (TEXT, TEXT), gives_nullable(INT), _regexp_instr)
scalar("REGEXP_SUBSTR", (TEXT, TEXT), _NULLABLE_STRING, lambda text, pattern: _regexp_extract(text, pattern, 0))

# Splitting


def _split_index(text: str, separator: Any, index: int) -> str | None:
    if isinstance(separator, int):
        if not 0 < separator <= 255:
            return None
        separator = chr(separator)
    if index < 0 or separator == "":
        return None
    parts = text.split(separator) if text else []
    return parts[index] if index < len(parts) else None


_TEXT_OR_CODE: Check = ("a text or the code of a character", lambda t: is_text(t) or INTEGER[1](t))
scalar("SPLIT_INDEX", (TEXT, _TEXT_OR_CODE, INTEGER), _NULLABLE_STRING, _split_index)


def _split(text: str, separator: str) -> tuple[str, ...]:
    return tuple(text) if separator == "" else tuple(text.split(separator))


scalar("SPLIT", (TEXT, TEXT), gives(DataTypes.ARRAY(STRING)), _split)


def _string_to_map(text: str, pairs: str = ",", key_value: str = "=") -> dict[str, str | None] | None:
    between, inside = compile_java(pairs), compile_java(key_value)
    result: dict[str, str | None] = {}
    for entry in between.split(text) if text else []:
        parts = inside.split(entry, maxsplit=1)
        result[parts[0]] = parts[1] if len(parts) == 2 else None
    return result


scalar("STR_TO_MAP", (TEXT, TEXT, TEXT), gives_nullable(DataTypes.MAP(STRING, STRING)), _string_to_map, least=1)


def _elt(index: int | None, *texts: Any) -> Any:
    return None if index is None or not 1 <= index <= len(texts) else texts[index - 1]


def _infer_elt(call: Call) -> DataType:
    check_arguments(call, (INTEGER, ANY), repeat=True)
    merged = common_type(call.types[1:])
    if merged is None:
        raise call_error(call, "the arguments have no common type")
    return merged.nullable()


register(Function("ELT", _infer_elt, lambda call: _elt, strict=False))

# Encodings


class EncodingError(FiresteelError, ValueError):
    """A text or bytes that are not what they should be."""


_CHARSETS = {
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-16": "utf-16",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
}


def _charset(name: str) -> str:
    known = _CHARSETS.get(name.upper(), "utf-8" if name.upper() == "UTF-8" else None)
    if known is None:
        raise EncodingError(f"there is no character set {name!r}; there are UTF-8, {', '.join(_CHARSETS)}.")
    return known


def _encode(text: str, charset: str) -> bytes:
    codec = _charset(charset)
    if codec == "utf-16":
        return b"\xfe\xff" + text.encode("utf-16-be")
    return text.encode(codec, "replace")


def _decode(data: bytes, charset: str) -> str:
    codec = _charset(charset)
    if codec == "utf-16" and data[:2] not in (b"\xfe\xff", b"\xff\xfe"):
        codec = "utf-16-be"
    return data.decode(codec, "replace")


scalar("ENCODE", (TEXT, TEXT), gives(DataTypes.BYTES()), _encode)
scalar("DECODE", (BYTES, TEXT), _STRING, _decode)


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except binascii.Error as error:
        raise EncodingError(f"{text!r} is not base64: {error}.") from None


scalar("TO_BASE64", (TEXT,), _STRING, lambda text: base64.b64encode(text.encode()).decode())
scalar("FROM_BASE64", (TEXT,), _STRING, _from_base64)


def _url_encode(text: str) -> str:
    return urllib.parse.quote_plus(text, safe="*").replace("~", "%7E")


def _url_decode(text: str) -> str | None:
    if re.search(r"%(?![0-9a-fA-F]{2})", text):
        return None
    return urllib.parse.unquote_plus(text)


scalar("URL_ENCODE", (TEXT,), _NULLABLE_STRING, _url_encode)
scalar("URL_DECODE", (TEXT, TEXT), _NULLABLE_STRING, _url_decode, least=1)
scalar("JSON_QUOTE", (TEXT,), _STRING, lambda text: _json_quote(text))


def _json_quote(text: str) -> str:
    out = []
    for char in quoted(text):
        code = ord(char)
        if code < 128:
            out.append("\\/" if char == "/" else char)
        else:
            data = char.encode("utf-16-be")
            out.extend(f"\\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))
    return "".join(out)


def _json_unquote(text: str) -> str:
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text
    try:
        value = json.loads(text, strict=False)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


scalar("JSON_UNQUOTE", (TEXT,), _STRING, _json_unquote)


# URLs and addresses

_URL = re.compile(r"([a-zA-Z][\w+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)


def _parse_url(url: str, part: str, key: str | None = None) -> str | None:
    match = _URL.fullmatch(url)
    if match is None:
        return None
    protocol, authority, path, query, ref = match.groups()
    user, _, host = (authority or "").rpartition("@")
    parts = {
        "HOST": host.partition(":")[0],
        "PATH": path,
        "QUERY": query,
        "REF": ref,
        "PROTOCOL": protocol,
        "FILE": path if query is None else f"{path}?{query}",
        "AUTHORITY": authority,
        "USERINFO": user or None,
    }
    if key is None:
        return parts.get(part)
    if part != "QUERY" or query is None:
        return None
    found = re.search(f"(&|^){re.escape(key)}=([^&]*)", query)
    return found.group(2) if found else None


scalar("PARSE_URL", (TEXT, TEXT, TEXT), _NULLABLE_STRING, _parse_url, least=2)


def _address_to_number(text: str) -> int | None:
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch(r"\d{1,10}", part, re.ASCII) for part in parts):
        return None
    numbers = [int(part) for part in parts]
    limits = [256] * (len(parts) - 1) + [256 ** (5 - len(parts))]
    if any(number >= limit for number, limit in zip(numbers, limits)):
        return None
    return sum(number << 8 * (3 - at) for at, number in enumerate(numbers[:-1])) + numbers[-1]


def _number_to_address(number: int) -> str | None:
    return str(ipaddress.IPv4Address(number)) if 0 <= number <= 0xFFFFFFFF else None


scalar("INET_ATON", (TEXT,), gives_nullable(DataTypes.BIGINT()), _address_to_number)
scalar("INET_NTOA", (INTEGER,), _NULLABLE_STRING, _number_to_address)

# What a text is


def _is_decimal(text: str | None) -> bool:
    try:
        return text is not None and Decimal(text).is_finite() and "_" not in text
    except InvalidOperation:
        return False


_CHECKED: Check = ("a text or a number", lambda t: is_text(t) or is_number(t))
scalar(
    "IS_ALPHA",
    (_CHECKED,),
    lambda call: DataTypes.BOOLEAN().not_null(),
    lambda text: bool(text) and str(text).isalpha(),
    strict=False,
)
scalar(
    "IS_DIGIT",
    (_CHECKED,),
    lambda call: DataTypes.BOOLEAN().not_null(),
    lambda text: bool(text) and str(text).isdigit(),
    strict=False,
)
scalar(
    "IS_DECIMAL",
    (_CHECKED,),
    lambda call: DataTypes.BOOLEAN().not_null(),
    lambda text: text is not None and _is_decimal(str(text)),
    strict=False,
)

# Hashes


def _hash(name: str, digits: int) -> None:
    scalar(
        name, (TEXT,), gives(DataTypes.CHAR(digits)), lambda text: hashlib.new(name.lower(), text.encode()).hexdigest()
    )


for _name, _digits in (("MD5", 32), ("SHA1", 40), ("SHA224", 56), ("SHA256", 64), ("SHA384", 96), ("SHA512", 128)):
    _hash(_name, _digits)


def _sha2(text: str, bits: int) -> str:
    if bits not in (224, 256, 384, 512):
        raise FiresteelError(f"SHA2: there are hashes of 224, 256, 384 and 512 bits, not of {bits}.")
    return hashlib.new(f"sha{bits}", text.encode()).hexdigest()


scalar("SHA2", (TEXT, INTEGER), gives(DataTypes.VARCHAR(128)), _sha2)


def _printf(pattern: str | None, *values: Any) -> str | None:
    return None if pattern is None else java_format(pattern, values)


scalar("PRINTF", (TEXT, ANY), _NULLABLE_STRING, _printf, least=1, repeat=True, strict=False)
