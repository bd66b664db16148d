"""Conditions in the form in which they are asked quickest: what to call, with what, and whether to turn the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from firesteel.cep.conditions import Always, And, IterativeCondition, Not, Or, SimpleCondition

ALWAYS: Final = 0
"""There is nothing to ask."""
ON_VALUE: Final = 1
"""Ask with the event."""
UNLESS_VALUE: Final = 2
"""Ask with the event, and turn the answer."""
IN_CONTEXT: Final = 3
"""Ask with the event and the context."""

Predicate = tuple[int, "Callable[..., Any] | None"]


def predicate(condition: IterativeCondition, known: dict[int, Predicate]) -> Predicate:
    """How to ask a condition.

    :param known: What was found for other conditions, by identity: the same condition gets the same answer.
    """
    found = known.get(id(condition))
    if found is None:
        found = known[id(condition)] = _predicate(condition, known)
    return found


def _predicate(condition: IterativeCondition, known: dict[int, Predicate]) -> Predicate:
    if isinstance(condition, Always):
        return ALWAYS, None
    if isinstance(condition, SimpleCondition):
        return ON_VALUE, getattr(condition, "call", condition.filter)
    if isinstance(condition, Not):
        return _contrary(*predicate(condition.inner, known))
    if isinstance(condition, And):
        return _both(predicate(condition.left, known), predicate(condition.right, known))
    if isinstance(condition, Or):
        return _either(predicate(condition.left, known), predicate(condition.right, known))
    return IN_CONTEXT, getattr(condition, "call", condition.filter)


def _contrary(mode: int, ask: Any) -> Predicate:
    if mode == ALWAYS:
        return ON_VALUE, _never
    if mode == ON_VALUE:
        return UNLESS_VALUE, ask
    if mode == UNLESS_VALUE:
        return ON_VALUE, ask
    return IN_CONTEXT, lambda value, ctx: not ask(value, ctx)


def _both(left: Predicate, right: Predicate) -> Predicate:
    if left[0] == ALWAYS:
        return right
    if right[0] == ALWAYS:
        return left
    if IN_CONTEXT not in (left[0], right[0]):
        first, second = _of_value(left), _of_value(right)
        return ON_VALUE, lambda value: first(value) and second(value)
    one, other = _in_context(left), _in_context(right)
    return IN_CONTEXT, lambda value, ctx: one(value, ctx) and other(value, ctx)


def _either(left: Predicate, right: Predicate) -> Predicate:
    if left[0] == ALWAYS:
        return left
    if IN_CONTEXT not in (left[0], right[0]):
        first, second = _of_value(left), _of_value(right)
        return ON_VALUE, lambda value: first(value) or second(value)
    one, other = _in_context(left), _in_context(right)
    return IN_CONTEXT, lambda value, ctx: one(value, ctx) or other(value, ctx)


def _of_value(asked: Predicate) -> Callable[[Any], Any]:
    mode, ask = asked
    if mode == ALWAYS:
        return _always
    assert ask is not None
    return ask if mode == ON_VALUE else lambda value: not ask(value)


def _in_context(asked: Predicate) -> Callable[[Any, Any], Any]:
    mode, ask = asked
    if mode == IN_CONTEXT:
        assert ask is not None
        return ask
    of_value = _of_value(asked)
    return lambda value, ctx: of_value(value)


def _always(value: Any) -> bool:
    return True


def _never(value: Any) -> bool:
    return False
