"""Which functions can keep nothing from one record to the next.

A function that has nowhere to keep anything cannot change a record after it has returned it, so its results need not
be looked at. That holds for most lambdas: they use their argument, constants and a few built-in functions.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final

from firesteel.runtime.records import UNCHANGEABLE

_HARMLESS_NAMES: Final = """
    abs all any bin bool bytearray bytes chr complex dict divmod enumerate filter float frozenset hash hex int
    isinstance len list map max min oct ord pow range repr reversed round set slice sorted str sum tuple type zip
"""
_HARMLESS: Final = frozenset(getattr(builtins, name) for name in _HARMLESS_NAMES.split())
"""Built-in functions that keep none of their arguments anywhere but in their results."""

_TELLTALE: Final = ("_ATTR", "_METHOD", "_NAME", "_GLOBAL", "_FROM", "_OR_GLOBALS", "_OR_DEREF")
"""Ends of the names of instructions that lead to other places, where something could be kept."""

_UNKNOWN: Final = object()


def keeps_nothing(call: Callable[..., Any]) -> bool:
    """Whether a function certainly has no place to keep anything. False where that cannot be told."""
    return _keeps_nothing(call, set())


def _keeps_nothing(call: Any, seen: set[int]) -> bool:
    if type(call) is itemgetter:
        return True
    if type(call) is not types.FunctionType:
        return isinstance(call, (type, types.BuiltinFunctionType)) and call in _HARMLESS
    if id(call) in seen:  # it calls itself
        return True
    seen.add(id(call))
    given = [*(call.__defaults__ or ()), *(call.__kwdefaults__ or {}).values()]
    try:
        given += [cell.cell_contents for cell in call.__closure__ or ()]
    except ValueError:  # a variable that has no value yet
        return False
    return all(_is_harmless(each, seen) for each in given) and _code_is_harmless(call.__code__, call.__globals__, seen)


def _is_harmless(value: Any, seen: set[int]) -> bool:
    """Whether a value that a function has from outside is neither a place to keep something nor leads to one."""
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
        return _keeps_nothing(value, seen)
    if value.__class__ is tuple:
        return all(_is_harmless(each, seen) for each in value)
    return value.__class__ in UNCHANGEABLE


def _code_is_harmless(code: types.CodeType, names: dict[str, Any], seen: set[int]) -> bool:
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name == "LOAD_GLOBAL":
            found = names.get(instruction.argval, getattr(builtins, instruction.argval, _UNKNOWN))
            if not _is_harmless(found, seen):
                return False
        elif name.endswith(_TELLTALE) or _sets_outer_variable(instruction, code):
            return False
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return all(_code_is_harmless(each, names, seen) for each in inner)


def _sets_outer_variable(instruction: dis.Instruction, code: types.CodeType) -> bool:
    return instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars
