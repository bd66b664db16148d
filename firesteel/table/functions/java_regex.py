"""Java's regular expressions, and SQL's patterns, as Python's."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["compile_java", "compile_like", "compile_similar"]

# What `.` does not match in Java, beyond the newline that Python leaves out as well.
_NOT_A_LINE_END = "[^\\n\\r\\u0085\\u2028\\u2029]"
_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": "\\x00-\\x1f\\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": " \\t\\n\\x0b\\f\\r",
    "L": "^\\W\\d_",
    "IsAlphabetic": "^\\W\\d_",
    "Nd": "\\d",
    "N": "\\d",
    "IsDigit": "\\d",
}
_ESCAPES = {"h": "[ \\t\\xa0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000]", "z": "\\Z", "e": "\\x1b"}


@lru_cache(maxsize=512)
def compile_java(pattern: str) -> re.Pattern[str]:
    """The Python expression for one of Java; ``re.error`` if it is none."""
    return re.compile(_Translation(pattern).all())


class _Translation:
    """Goes through a Java expression once, and writes Python's."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.unicode = "(?U)" in pattern or "\\p{L" in pattern or "\\p{Is" in pattern
        self.dotall = bool(re.match(r"\(\?[a-z]*s[a-z]*\)", pattern))

    def all(self) -> str:
        out = []
        while self.at < len(self.pattern):
            out.append(self.one())
        text = "".join(out).replace("(?U)", "")
        return text if self.unicode else f"(?a){text}"

    def one(self) -> str:
        char = self.pattern[self.at]
        if char == "\\":
            return self.escape(inside=False)
        if char == "[":
            return self.char_class()
        self.at += 1
        if char == ".":
            return "." if self.dotall else _NOT_A_LINE_END
        if (
            char == "("
            and self.pattern.startswith("?<", self.at)
            and self.pattern[self.at + 2 : self.at + 3] not in "=!"
        ):
            self.at += 2
            return "(?P<"
        return char

    def escape(self, inside: bool) -> str:
        if self.at + 1 >= len(self.pattern):
            raise re.error("the expression ends with a backslash", self.pattern, self.at)
        char = self.pattern[self.at + 1]
        self.at += 2
        if char == "Q":
            end = self.pattern.find("\\E", self.at)
            end = len(self.pattern) if end < 0 else end
            text, self.at = self.pattern[self.at : end], min(end + 2, len(self.pattern))
            return re.escape(text)
        if char in "pP":
            return self.property(negated=char == "P", inside=inside)
        if char == "R" and not inside:
            return "(?:\\r\\n|[\\n\\x0b\\f\\r\\u0085\\u2028\\u2029])"
        if char == "k" and self.pattern[self.at : self.at + 1] == "<":
            end = self.pattern.index(">", self.at)
            name, self.at = self.pattern[self.at + 1 : end], end + 1
            return f"(?P={name})"
        if char == "Z" and not inside:
            return "(?=\\n?\\Z)"
        if char == "G" and not inside:
            return ""
        return _ESCAPES.get(char, f"\\{char}")

    def property(self, negated: bool, inside: bool) -> str:
        if self.pattern[self.at : self.at + 1] == "{":
            end = self.pattern.index("}", self.at)
            name, self.at = self.pattern[self.at + 1 : end], end + 1
        else:
            name, self.at = self.pattern[self.at], self.at + 1
        members = _CLASSES.get(name) or _CLASSES.get(name.removeprefix("Is"))
        if members is None:
            raise re.error(f"unknown character property {name}", self.pattern, self.at)
        if members.startswith("^"):
            negated, members = not negated, members[1:]
        if not inside:
            return f"[{'^' if negated else ''}{members}]"
        if negated:
            raise re.error(f"a negated property {name} inside brackets", self.pattern, self.at)
        return members

    def char_class(self) -> str:
        """Brackets: unions are written flat, an intersection becomes a look-ahead."""
        self.at += 1
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        members, ahead = "", ""
        first = True
        while True:
            if self.at >= len(self.pattern):
                raise re.error("brackets that do not end", self.pattern, self.at)
            char = self.pattern[self.at]
            if char == "]" and not first:
                self.at += 1
                break
            if self.pattern.startswith("&&", self.at):
                self.at += 2
                rest = self._rest_of_intersection()
                ahead += f"(?={rest})"
                continue
            if char == "[":
                members += self._flat(self.char_class())
            elif char == "\\":
                members += self.escape(inside=True)
            else:
                members += char
                self.at += 1
            first = False
        return f"(?:{ahead}[{'^' if negated else ''}{members}])" if ahead else f"[{'^' if negated else ''}{members}]"

    def _rest_of_intersection(self) -> str:
        if self.pattern[self.at] == "[":
            return self.char_class()
        start = self.at
        while (
            self.at < len(self.pattern) and self.pattern[self.at] != "]" and not self.pattern.startswith("&&", self.at)
        ):
            self.at += 2 if self.pattern[self.at] == "\\" else 1
        return f"[{self.pattern[start : self.at]}]"

    def _flat(self, inner: str) -> str:
        if inner.startswith("[^") or not inner.startswith("["):
            raise re.error("a negated class inside brackets", self.pattern, self.at)
        return inner[1:-1]


@lru_cache(maxsize=512)
def compile_like(pattern: str, escape: str | None = None) -> re.Pattern[str]:
    """LIKE: ``%`` is any text, ``_`` any character, the escape character takes the next literally."""
    out, at = [], 0
    while at < len(pattern):
        char = pattern[at]
        if escape and char == escape:
            if at + 1 >= len(pattern) or pattern[at + 1] not in ("%", "_", escape):
                raise ValueError(f"invalid escape sequence in the pattern {pattern!r}, position {at}")
            out.append(re.escape(pattern[at + 1]))
            at += 2
            continue
        out.append({"%": ".*", "_": "."}.get(char) or re.escape(char))
        at += 1
    return re.compile("".join(out), re.DOTALL)


_SQL_CLASSES = {
    "[:ALPHA:]": "\\p{Alpha}",
    "[:alpha:]": "\\p{Alpha}",
    "[:UPPER:]": "\\p{Upper}",
    "[:upper:]": "\\p{Upper}",
    "[:LOWER:]": "\\p{Lower}",
    "[:lower:]": "\\p{Lower}",
    "[:DIGIT:]": "\\d",
    "[:digit:]": "\\d",
    "[:SPACE:]": " ",
    "[:space:]": " ",
    "[:WHITESPACE:]": "\\s",
    "[:whitespace:]": "\\s",
    "[:ALNUM:]": "\\p{Alnum}",
    "[:alnum:]": "\\p{Alnum}",
}


@lru_cache(maxsize=512)
def compile_similar(pattern: str, escape: str | None = None) -> re.Pattern[str]:
    """SIMILAR TO: a regular expression with ``%`` and ``_`` of LIKE, and named classes in brackets."""
    out, at = [], 0
    while at < len(pattern):
        char = pattern[at]
        if escape and char == escape and at + 1 < len(pattern):
            out.append(re.escape(pattern[at + 1]))
            at += 2
        elif char == "[":
            end, text = _similar_class(pattern, at)
            out.append(text)
            at = end
        else:
            out.append({"%": "(?:.|\\n)*", "_": "(?:.|\\n)"}.get(char, char))
            at += 1
    return compile_java("".join(out))


def _similar_class(pattern: str, at: int) -> tuple[int, str]:
    for name, expression in _SQL_CLASSES.items():
        if pattern.startswith(f"[{name}]", at):
            return at + len(name) + 2, expression
    end = at + 1
    while end < len(pattern) and pattern[end] != "]":
        if pattern.startswith("[:", end):
            end = pattern.find(":]", end) + 1
        end += 1
    text = pattern[at : end + 1]
    for name, expression in _SQL_CLASSES.items():
        text = text.replace(name, expression)
    return end + 1, text
