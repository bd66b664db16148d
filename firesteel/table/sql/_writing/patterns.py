"""MATCH_RECOGNIZE, as text."""

from __future__ import annotations

from firesteel.table.sql._writing.expressions import order_by, partition_by
from firesteel.table.sql._writing.queries import write_factor
from firesteel.table.sql._writing.registry import words, write, write_all, write_name, writes
from firesteel.table.sql.nodes.queries import (
    AfterMatch,
    Aliased,
    Definition,
    MatchRecognize,
    Measure,
    PatternAlternation,
    PatternConcatenation,
    PatternExclusion,
    PatternNode,
    PatternPermutation,
    PatternQuantifier,
    PatternVariable,
    Subset,
)


@writes(PatternVariable)
def _variable(node: PatternVariable) -> str:
    return write_name(node.name)


@writes(PatternAlternation)
def _alternation(node: PatternAlternation) -> str:
    right = f"({write(node.right)})" if isinstance(node.right, PatternAlternation) else write(node.right)
    return f"{write(node.left)} | {right}"


@writes(PatternConcatenation)
def _concatenation(node: PatternConcatenation) -> str:
    left = f"({write(node.left)})" if isinstance(node.left, PatternAlternation) else write(node.left)
    return f"{left} {_factor(node.right)}"


def _factor(node: PatternNode) -> str:
    loose = isinstance(node, (PatternAlternation, PatternConcatenation))
    return f"({write(node)})" if loose else write(node)


@writes(PatternQuantifier)
def _quantifier(node: PatternQuantifier) -> str:
    inner = node.pattern
    text = f"({write(inner)})" if isinstance(inner, PatternQuantifier) else _factor(inner)
    bounds = {("0", None): "*", ("1", None): "+", ("0", "1"): "?"}.get((node.at_least or "", node.at_most))
    if bounds is None:
        bounds = f"{{{_bounds(node)}}}"
    return f"{text}{bounds}{'?' if node.reluctant else ''}"


def _bounds(node: PatternQuantifier) -> str:
    if node.at_least is not None and node.at_least == node.at_most:
        return node.at_least
    return f"{node.at_least or ''}, {node.at_most or ''}".strip()


@writes(PatternExclusion)
def _exclusion(node: PatternExclusion) -> str:
    return f"{{- {write(node.pattern)} -}}"


@writes(PatternPermutation)
def _permutation(node: PatternPermutation) -> str:
    return f"PERMUTE ({write_all(node.patterns)})"


@writes(Measure)
def _measure(node: Measure) -> str:
    return f"{write(node.expression)} AS {write_name(node.name)}"


@writes(Definition)
def _definition(node: Definition) -> str:
    return f"{write_name(node.variable)} AS {write(node.condition)}"


@writes(Subset)
def _subset(node: Subset) -> str:
    return f"{write_name(node.name)} = ({write_all(node.members)})"


@writes(AfterMatch)
def _after(node: AfterMatch) -> str:
    return words("AFTER MATCH SKIP", node.kind, None if node.variable is None else write_name(node.variable))


@writes(MatchRecognize)
def _match_recognize(node: MatchRecognize) -> str:
    pattern = words("^" if node.strict_start else None, write(node.pattern), "$" if node.strict_end else None)
    inside = words(
        partition_by(node.partition_by),
        order_by(node.order_by),
        f"MEASURES {write_all(node.measures)}" if node.measures else None,
        None if node.rows_per_match is None else f"{node.rows_per_match} PER MATCH",
        None if node.after is None else write(node.after),
        f"PATTERN ({pattern})",
        None if node.within is None else f"WITHIN {write(node.within)}",
        f"SUBSET {write_all(node.subsets)}" if node.subsets else None,
        f"DEFINE {write_all(node.definitions)}",
    )
    table = write(node.table) if isinstance(node.table, Aliased) else write_factor(node.table)
    return f"{table} MATCH_RECOGNIZE ({inside})"
