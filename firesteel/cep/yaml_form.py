"""Patterns as YAML, or as what YAML is read to: mappings, lists and text.

::

    stages:
      - begin: small
        where: is_small           # the name of a condition, or a list: all of them
      - followed_by: large
        where: is_large
        or: is_foreign
        times: 2                  # or "+", "*", "{2,}", "{2,4}", as in a pattern's text
        optional: true            # greedy, consecutive, relaxed, combinations in the same way
        until: is_refund
      - not_followed_by: refund
        where: is_refund
      - next:                     # a group
          - begin: a
          - next: b
    within: 10 min                # or {time: 10 min, between: previous and current}, in a stage
    skip: past last event

Instead of ``stages`` there may be a ``pattern`` in text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import yaml

from firesteel.cep.quantifier import WithinType
from firesteel.cep.skipping import AfterMatchSkipStrategy
from firesteel.cep.text import apply_quantifier, bound, parse_pattern, parse_skip, parse_time
from firesteel.errors import MalformedPatternException
from firesteel.plan.graph import user_call_site

if TYPE_CHECKING:
    from firesteel.cep.pattern import Condition, Pattern

_WAYS: Final = ("begin", "next", "followed_by", "followed_by_any", "not_next", "not_followed_by")
_FLAGS: Final = ("optional", "greedy", "consecutive", "relaxed", "combinations")
_STAGE: Final = {*_WAYS, *_FLAGS, "where", "or", "times", "until", "within"}
_TOP: Final = {"stages", "pattern", "within", "skip"}


def read_any_pattern(written: str | Mapping[str, Any], conditions: Mapping[str, Condition]) -> Pattern:
    """A pattern in whatever form: one line of text, YAML, or what YAML was read to."""
    if isinstance(written, str) and "stages:" not in written and "pattern:" not in written:
        return parse_pattern(written, conditions)
    return read_pattern(written, conditions)


def read_pattern(written: str | Mapping[str, Any], conditions: Mapping[str, Condition]) -> Pattern:
    """The pattern that YAML describes."""
    content = _load(written) if isinstance(written, str) else written
    if not isinstance(content, Mapping):
        raise _wrong(f"a pattern is a mapping with 'stages' or 'pattern', got {content!r:.80}")
    _known("the pattern", content, _TOP)
    if ("stages" in content) == ("pattern" in content):
        raise _wrong("a pattern has either 'stages' or 'pattern', the latter as text")
    strategy = AfterMatchSkipStrategy.no_skip()
    if "skip" in content:
        strategy = parse_skip(str(content["skip"]))
    if "pattern" in content:
        pattern = parse_pattern(content["pattern"], conditions, strategy if "skip" in content else None)
    else:
        pattern = _stages(content["stages"], conditions, strategy)
    if "within" in content:
        pattern.within(_time(content["within"]))
    return pattern


def _load(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _wrong(f"it is no YAML: {error}") from error


def _stages(stages: Any, conditions: Mapping[str, Condition], strategy: AfterMatchSkipStrategy) -> Pattern:
    from firesteel.cep.pattern import Pattern

    if not isinstance(stages, list) or not stages:
        raise _wrong(f"stages are a list with at least one entry, got {stages!r:.80}")
    pattern: Pattern | None = None
    for number, stage in enumerate(stages):
        if not isinstance(stage, Mapping):
            raise _wrong(f"a stage is a mapping such as {{followed_by: name, where: condition}}, got {stage!r:.80}")
        ways = [way for way in _WAYS if way in stage]
        if len(ways) != 1 or (ways[0] == "begin") != (number == 0):
            ways_text = ", ".join(_WAYS)
            raise _wrong(f"stage {number + 1} must say one of {ways_text}, the first one 'begin', got {dict(stage)}")
        _known(f"stage {number + 1}", stage, _STAGE)
        named = stage[ways[0]]
        added = _stages(named, conditions, AfterMatchSkipStrategy.no_skip()) if isinstance(named, list) else named
        pattern = Pattern.begin(added, strategy) if pattern is None else getattr(pattern, ways[0])(added)
        _settle(pattern, stage, conditions)
    assert pattern is not None
    return pattern


def _settle(pattern: Pattern, stage: Mapping[str, Any], conditions: Mapping[str, Condition]) -> None:
    for name in _names(stage.get("where")):
        pattern.where(bound(name, conditions))
    for name in _names(stage.get("or")):
        pattern.or_(bound(name, conditions))
    options = {flag: "" for flag in _FLAGS if stage.get(flag)}
    if "until" in stage:
        options["until"] = stage["until"]
    optional = options.pop("optional", None) is not None
    times = stage.get("times", "")
    quantifier = f"{{{times}}}" if isinstance(times, int) else str(times).replace(" ", "")
    if optional and not quantifier.endswith("?"):
        quantifier += "?"
    apply_quantifier(pattern, quantifier, options, "relaxed", conditions)
    within = stage.get("within")
    if isinstance(within, Mapping):
        pattern.within(_time(within.get("time")), WithinType(within.get("between", "first and last")))
    elif within is not None:
        pattern.within(_time(within))


def _time(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else parse_time(str(value))


def _names(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _known(what: str, content: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(str(key) for key in content if key not in known)
    if unknown:
        raise _wrong(f"{what} says {', '.join(unknown)}, which means nothing; known are {', '.join(sorted(known))}")


def _wrong(problem: str) -> MalformedPatternException:
    return MalformedPatternException(f"pattern: {problem}.\n  at {user_call_site()}")
