"""Which functions can keep nothing from one record to the next.

A function that has nowhere to keep anything cannot change a record after it has returned it, so its results need not
be looked at. That holds for most lambdas: they use their argument, constants and a few built-in functions. And it holds
for methods that keep nothing but numbers, texts and the like in state of a declared type.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Final

from firesteel.model.state import State
from firesteel.runtime.records import UNCHANGEABLE
from firesteel.state.handles import holds_unchangeable

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
    return _are_harmless(dis.get_instructions(code), code, names, seen)


def _are_harmless(
    instructions: Iterable[dis.Instruction], code: types.CodeType, names: dict[str, Any], seen: set[int]
) -> bool:
    for instruction in instructions:
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


class Emission:
    """A generator method that emits at most once, as the last thing it does, and keeps nothing.

    It may use its object's constants and its state of a declared type that cannot change, such as ``Types.LONG()``:
    nothing that can change fits in there.

    :ivar needed: The attributes of the object that this depends on.
    """

    def __init__(self, owner: Any, needed: dict[str, Any]) -> None:
        self._owner = owner
        self.needed = needed

    def keeps_nothing(self) -> bool:
        """Whether the attributes are still the same. To be asked now and then: methods may set them."""
        return all(_own_attribute(self._owner, name) is value for name, value in self.needed.items())


def _own_attribute(owner: Any, name: str) -> Any:
    """An attribute that the object itself has.

    Its ``__dict__`` is not asked for: from then on CPython would keep the attributes there, and the method itself would
    take a quarter longer to reach them.
    """
    return _UNKNOWN if hasattr(type(owner), name) else getattr(owner, name, _UNKNOWN)


def emission_of(call: Callable[..., Any]) -> Emission | None:
    """What is known of a bound generator method, if it is one that keeps nothing."""
    if type(call) is not types.MethodType or type(call.__func__) is not types.FunctionType:
        return None
    function, code = call.__func__, call.__func__.__code__
    instructions = list(dis.get_instructions(code))
    if function.__closure__ or function.__defaults__ or function.__kwdefaults__ or code.co_cellvars:
        return None
    if _finds_attributes_its_own_way(type(call.__self__)) or not _yields_last(instructions):
        return None
    needed: dict[str, Any] = {}
    rest = _without_own_attributes(instructions, code.co_varnames[0], call.__self__, needed)
    if rest is None or not _are_harmless(rest, code, function.__globals__, set()):
        return None
    return Emission(call.__self__, needed)


def _finds_attributes_its_own_way(owner: type) -> bool:
    own_ways = ("__getattribute__", "__getattr__")
    return any(name in vars(base) for base in owner.__mro__[:-1] for name in own_ways)


def _yields_last(instructions: list[dis.Instruction]) -> bool:
    """Whether nothing is done after a ``yield`` but to return."""
    names = [each.opname for each in instructions]
    yields = [position for position, name in enumerate(names) if name == "YIELD_VALUE"]
    for position in yields:
        after = [name for name in names[position + 1 : position + 5] if name != "RESUME"]
        if after[:2] != ["POP_TOP", "RETURN_CONST"] and after[:3] != ["POP_TOP", "LOAD_CONST", "RETURN_VALUE"]:
            return False
    return bool(yields)


def _without_own_attributes(
    instructions: list[dis.Instruction], me: str, owner: Any, needed: dict[str, Any]
) -> list[dis.Instruction] | None:
    """The instructions without those that use the object's own constants and state; None if it uses anything else."""
    rest = []
    stream = iter(instructions)
    for instruction in stream:
        argument = instruction.argval
        if argument != me and not (isinstance(argument, tuple) and me in argument):
            rest.append(instruction)
            continue
        loaded = next(stream, None)
        if instruction.opname != "LOAD_FAST" or loaded is None or loaded.opname != "LOAD_ATTR":
            return None
        value = needed[loaded.argval] = _own_attribute(owner, loaded.argval)
        if isinstance(value, State) and holds_unchangeable(value):
            method = next(stream, None)
            if method is None or not method.opname.endswith(("_METHOD", "_ATTR")):
                return None
        elif value.__class__ not in UNCHANGEABLE:
            return None
    return rest
