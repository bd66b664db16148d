"""Failures as Flink's clients want them: with a Java-serialized exception, without which its command line waits on."""

from __future__ import annotations

import base64
import struct
import traceback

__all__ = ["cause_of", "described_failure"]

# The grammar of Java's object streams, as far as one exception needs it.
_HEADER = b"\xac\xed\x00\x05"
_NULL, _OBJECT, _CLASS, _STRING, _ARRAY, _END, _LONG_STRING = (
    b"\x70",
    b"\x73",
    b"\x72",
    b"\x74",
    b"\x75",
    b"\x78",
    b"\x7c",
)
_SERIALIZABLE, _WITH_WRITE_METHOD = 2, 3


def _utf(text: str) -> bytes:
    """Text in Java's modified UTF-8: surrogate pairs, and no zero byte."""
    units = text.encode("utf-16-be", "surrogatepass")
    parts = []
    for (unit,) in struct.iter_unpack(">H", units):
        if 0 < unit < 0x80:
            parts.append(bytes((unit,)))
        elif unit < 0x800:
            parts.append(bytes((0xC0 | unit >> 6, 0x80 | unit & 0x3F)))
        else:
            parts.append(bytes((0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F)))
    return b"".join(parts)


def _short(text: str) -> bytes:
    data = _utf(text)
    return struct.pack(">H", len(data)) + data


def _string(text: str) -> bytes:
    data = _utf(text)
    if len(data) < 1 << 16:
        return _STRING + struct.pack(">H", len(data)) + data
    return _LONG_STRING + struct.pack(">Q", len(data)) + data


def _class(name: str, uid: int, flags: int, fields: list[tuple[str, str]], parent: bytes) -> bytes:
    described = b"".join(kind[:1].encode() + _short(field) + _string(kind) for field, kind in fields)
    return _CLASS + _short(name) + struct.pack(">qBH", uid, flags, len(fields)) + described + _END + parent


def _serialized(message: str, name: str, stack_trace: str) -> bytes:
    """An ``org.apache.flink.util.SerializedThrowable``, as Java writes it."""
    throwable = _class(
        "java.lang.Throwable",
        -3042686055658047285,
        _WITH_WRITE_METHOD,
        [
            ("cause", "Ljava/lang/Throwable;"),
            ("detailMessage", "Ljava/lang/String;"),
            ("stackTrace", "[Ljava/lang/StackTraceElement;"),
            ("suppressedExceptions", "Ljava/util/List;"),
        ],
        _NULL,
    )
    exception = _class("java.lang.Exception", -3387516993124229948, _SERIALIZABLE, [], throwable)
    wrapped = _class(
        "org.apache.flink.util.SerializedThrowable",
        7284183123441947635,
        _SERIALIZABLE,
        [
            ("fullStringifiedStackTrace", "Ljava/lang/String;"),
            ("originalErrorClassName", "Ljava/lang/String;"),
            ("serializedException", "[B"),
        ],
        exception,
    )
    values = _NULL + _string(message) + _NULL + _NULL + _END  # those of Throwable, then the end of what it writes
    own = _string(stack_trace) + _string(name) + _NULL
    return _HEADER + _OBJECT + wrapped + values + own


def described_failure(name: str, message: str, stack_trace: str) -> dict[str, str]:
    """A failure in the form of Flink's ``failure-cause``."""
    headline = f"{name}: {message}"
    return {
        "class": name,
        "stack-trace": stack_trace,
        "serialized-throwable": base64.b64encode(_serialized(headline, name, stack_trace)).decode(),
    }


def cause_of(error: BaseException) -> dict[str, str]:
    """An exception in the form of Flink's ``failure-cause``."""
    text = "".join(traceback.format_exception_only(type(error), error))
    return described_failure(type(error).__name__, str(error), text)
