"""Patterns as text: ``"a b+ -> c? within 10 min"``.

::

    pattern   := stages ["within" time] ["skip" where]
    stages    := item (separator item)*
    separator := " " next | "->" followed by | "->>" followed by any
    item      := ["!"] name [":" condition] [quantifier] [options]   |   "(" stages ")" [quantifier] [options]
    quantifier:= "?" | "+" | "*" | "{2}" | "{2,}" | "{2,4}", and "?" behind the last three for "or not at all"
    options   := "[" greedy | consecutive | relaxed | combinations | until=condition | within=time, ... "]"
    time      := 500 ms | 10 s | 10 min | 2 h | 1 d
    skip      := "past last event" | "to next" | "to first" name | "to last" name

The events of a stage that repeats come directly one after the other if the stage does (or is the first), may have
others in between behind ``->``, and make all combinations behind ``->>``; an option says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from firesteel.cep.conditions import IterativeCondition, as_condition
from firesteel.cep.skipping import AfterMatchSkipStrategy
from firesteel.errors import MalformedPatternException
from firesteel.plan.graph import user_call_site

if TYPE_CHECKING:
    from firesteel.cep.pattern import Condition, Pattern

_TOKEN = re.compile(
    r"\s*(?:(?P<arrow>->>|->)|(?P<open>\()|(?P<close>\))|(?P<not>!)"
    r"|(?P<name>[^\W\d]\w*)(?::(?P<condition>\*|[^\W\d]\w*))?"
    r"|(?P<quantifier>[+*]\??|\?|\{\s*\d+\s*(?:,\s*\d*\s*)?\}\??)|\[(?P<options>[^\]]*)\])"
)
_END = re.compile(r"\s+(?=(?:within|skip)\s)")
_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_UNITS: Final = {
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
_OPTIONS: Final = ("greedy", "consecutive", "relaxed", "combinations", "until", "within")
_INNER: Final = {"next": "consecutive", "followed_by": "relaxed", "followed_by_any": "combinations"}


def parse_pattern(
    text: str, conditions: Mapping[str, Condition], strategy: AfterMatchSkipStrategy | None = None
) -> Pattern:
    """The pattern that a text describes."""
    if not isinstance(text, str):
        raise _wrong(str(text), f"a pattern is written as text, not as {type(text).__name__}")
    stages, *endings = _END.split(" " + text.strip())
    window: int | None = None
    for ending in endings:
        word, _, rest = ending.partition(" ")
        if word == "within":
            window = parse_time(rest)
        else:
            strategy = parse_skip(rest)
    pattern = _Parser(stages, conditions).parse(strategy or AfterMatchSkipStrategy.no_skip())
    return pattern if window is None else pattern.within(window)


def parse_time(text: str) -> int:
    """``10 min`` in milliseconds."""
    found = _TIME.fullmatch(text.lower())
    if found is None or found[2] not in _UNITS:
        raise _wrong(text, "a time is written as a number and a unit: 500 ms, 10 s, 10 min, 2 h, 1 d")
    return round(float(found[1]) * _UNITS[found[2]])


def parse_skip(text: str) -> AfterMatchSkipStrategy:
    """``past last event`` and its siblings."""
    words = text.split()
    if words == ["past", "last", "event"]:
        return AfterMatchSkipStrategy.skip_past_last_event()
    if words == ["to", "next"]:
        return AfterMatchSkipStrategy.skip_to_next()
    if len(words) == 3 and words[0] == "to" and words[1] in ("first", "last"):
        return getattr(AfterMatchSkipStrategy, f"skip_to_{words[1]}")(words[2])  # type: ignore[no-any-return]
    raise _wrong(text, "after 'skip' comes 'past last event', 'to next', 'to first <stage>' or 'to last <stage>'")


def bound(name: str, conditions: Mapping[str, Condition]) -> IterativeCondition:
    """What the name of a condition stands for."""
    if name not in conditions:
        known = ", ".join(sorted(conditions)) or "none"
        raise _wrong(name, f"there is no condition {name!r}; known are: {known}")
    return as_condition(f"condition {name!r}", conditions[name], name)


class _Parser:
    """Reads stages from left to right."""

    def __init__(self, text: str, conditions: Mapping[str, Condition]) -> None:
        self._text = text.strip()
        self._conditions = conditions
        self._place = 0
        self._token: re.Match[str] | None = None
        self._advance()

    def parse(self, strategy: AfterMatchSkipStrategy) -> Pattern:
        pattern = self._stages(strategy)
        if self._token is not None:
            raise self._unexpected()
        return pattern

    def _advance(self) -> re.Match[str] | None:
        """The token in work; the next one takes its place."""
        current = self._token
        if self._place >= len(self._text):
            self._token = None
            return current
        self._token = _TOKEN.match(self._text, self._place)
        if self._token is None:
            raise _wrong(self._text, f"cannot read it from {self._text[self._place :].strip()!r} on")
        self._place = self._token.end()
        return current

    def _has(self, kind: str) -> bool:
        return self._token is not None and self._token[kind] is not None

    def _stages(self, strategy: AfterMatchSkipStrategy) -> Pattern:
        pattern: Pattern | None = None
        while self._token is not None and not self._has("close"):
            how = "next"
            if self._has("arrow"):
                if pattern is None:
                    raise self._unexpected()
                how = "followed_by" if self._token["arrow"] == "->" else "followed_by_any"
                self._advance()
            pattern = self._item(pattern, how, strategy)
        if pattern is None:
            raise _wrong(self._text, "there is no stage in it" + (" or in one of its groups" if self._text else ""))
        return pattern

    def _item(self, before: Pattern | None, how: str, strategy: AfterMatchSkipStrategy) -> Pattern:
        from firesteel.cep.pattern import Pattern

        negative = self._has("not")
        if negative:
            self._advance()
            if before is None or how == "followed_by_any":
                raise _wrong(self._text, "'!' comes behind another stage, with a space or '->' before it")
        stage: Any
        token = self._advance()
        if token is not None and token["open"] and not negative:
            stage = self._stages(AfterMatchSkipStrategy.no_skip())
            if not self._has("close"):
                raise _wrong(self._text, "a ')' is missing")
            self._advance()
        elif token is not None and token["name"]:
            stage = token["name"]
        else:
            raise _wrong(self._text, "a stage is missing")
        method = f"not_{how}" if negative else how
        pattern: Pattern = Pattern.begin(stage, strategy) if before is None else getattr(before, method)(stage)
        if isinstance(stage, str):
            assert token is not None
            name = token["condition"] or stage
            if name != "*":
                pattern.where(bound(name, self._conditions))
        self._quantifier(pattern, how)
        return pattern

    def _quantifier(self, pattern: Pattern, how: str) -> None:
        options: dict[str, str] = {}
        quantifier = ""
        if self._has("quantifier"):
            token = self._advance()
            assert token is not None
            quantifier = token["quantifier"].replace(" ", "")
        if self._has("options"):
            token = self._advance()
            assert token is not None
            options = _options(self._text, token["options"])
        apply_quantifier(pattern, quantifier, options, _INNER[how], self._conditions)

    def _unexpected(self) -> MalformedPatternException:
        found = "" if self._token is None else self._token[0].strip()
        return _wrong(self._text, f"{found!r} is not expected there")


def apply_quantifier(
    pattern: Pattern, quantifier: str, options: Mapping[str, Any], inner: str, conditions: Mapping[str, Condition]
) -> None:
    """Set the quantifier of a stage and its options."""
    window = options.get("within")
    time = None if window is None else window if isinstance(window, int) else parse_time(window)
    repeats = quantifier not in ("", "?")
    if quantifier[:1] in ("+", "*"):
        pattern.one_or_more(time)
    elif repeats:
        least, comma, most = quantifier.rstrip("?").strip("{}").partition(",")
        if comma and not most:
            pattern.times_or_more(int(least), time)
        elif comma:
            pattern.times(int(least), int(most), time)
        else:
            pattern.times(int(least), time)
    chosen = next((name for name in ("consecutive", "relaxed", "combinations") if name in options), inner)
    if repeats and chosen == "consecutive":
        pattern.consecutive()
    elif repeats and chosen == "combinations":
        pattern.allow_combinations()
    if "greedy" in options:
        pattern.greedy()
    if quantifier.endswith("?") or quantifier.startswith("*"):
        pattern.optional()
    if "until" in options:
        pattern.until(bound(options["until"], conditions))


def _options(text: str, written: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in written.split(","))):
        name, equals, value = (each.strip() for each in part.partition("="))
        if name not in _OPTIONS:
            raise _wrong(text, f"there is no option {name!r}; known are {', '.join(_OPTIONS)}")
        if bool(equals) != (name in ("until", "within")):
            raise _wrong(text, f"the option {name!r} {'needs a value' if not equals else 'has no value'}")
        options[name] = value
    return options


def _wrong(text: str, problem: str) -> MalformedPatternException:
    return MalformedPatternException(f"pattern {text.strip()!r}: {problem}.\n  at {user_call_site()}")
