"""How strongly operators bind, from MULTISET UNION to field access, as Flink has it."""

from __future__ import annotations

OR, AND, NOT, POSTFIX, COMPARISON, PREDICATE, ADD, MULTIPLY, SIGN, ITEM = 22, 24, 26, 28, 30, 32, 40, 60, 80, 100

COMPARISONS = ("=", ">", "<", "<=", ">=", "<>")
MULTISET = {"UNION": 14, "EXCEPT": 14, "INTERSECT": 18}
INFIX = {
    **dict.fromkeys(COMPARISONS, COMPARISON),
    "+": ADD,
    "-": ADD,
    "*": MULTIPLY,
    "/": MULTIPLY,
    "%": MULTIPLY,
    "||": MULTIPLY,
    "AND": AND,
    "OR": OR,
    **dict.fromkeys(("CONTAINS", "OVERLAPS", "EQUALS", "PRECEDES", "SUCCEEDS"), COMPARISON),
}
PREFIXES = {"+": SIGN, "-": SIGN, "NOT": NOT, "EXISTS": ADD, "UNIQUE": ADD}

# INTERSECT binds more strongly than the others.
SET_OPERATORS = {"UNION": 1, "EXCEPT": 1, "INTERSECT": 2}
