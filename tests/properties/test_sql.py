"""Whatever the text, the parser reads it or says what is wrong; whatever the tree, its text is read as itself."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.table.sql import SqlParserError, parse_expression, parse_statements, parse_type, unparse
from firesteel.table.sql.keywords import KEYWORDS
from firesteel.table.sql.nodes import expressions as ex
from firesteel.table.sql.nodes import types as ty
from firesteel.table.sql.nodes.base import Expression, Identifier, TypeNode
from firesteel.table.sql.operators import INFIX

SIGNS = [
    "(",
    ")",
    ",",
    ".",
    ";",
    "=",
    "<",
    ">",
    "<>",
    "*",
    "+",
    "-",
    "/",
    "%",
    "||",
    "[",
    "]",
    "{",
    "}",
    "?",
    ":",
    "=>",
]
OTHERS = ["t", "`x y`", "'text'", "1", "1.5", "1e3", "x'ff'", "/*+", "*/", "/*", "--", "'", "`", "$", "^", "|", "\n"]
words = st.sampled_from([*sorted(KEYWORDS), *SIGNS, *OTHERS, "a", "b", "SELECT", "FROM", "CREATE", "TABLE", "AS"])
names = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.one_of(st.text(max_size=60), st.lists(words, max_size=14).map(" ".join)))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    for read in (parse_statements, parse_expression, parse_type):
        try:
            read(text)
        except SqlParserError as error:
            assert error.line >= 1
            assert error.column >= 1


columns = st.lists(names, min_size=1, max_size=3).map(lambda parts: Identifier(tuple(parts)))
literals: st.SearchStrategy[Expression] = st.one_of(
    st.integers(0, 10**20).map(lambda number: ex.NumberLiteral(str(number))),
    st.text(max_size=8).map(ex.StringLiteral),
    st.sampled_from([True, False, None]).map(ex.BooleanLiteral),
    st.just(ex.NullLiteral()),
    st.just(ex.IntervalLiteral("1", ty.IntervalQualifier("DAY", "SECOND", 2, 3))),
    st.just(ex.ContextVariable("CURRENT_DATE")),
)


def _compound(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    some = st.lists(inner, min_size=1, max_size=3).map(tuple)
    optional = st.none() | inner
    conditions = st.builds(ex.When, st.tuples(inner), inner)
    return st.one_of(
        st.builds(ex.Infix, st.sampled_from([*INFIX, "IS DISTINCT FROM", "MEMBER OF", "MULTISET UNION"]), inner, inner),
        st.builds(ex.Prefix, st.sampled_from(["-", "+", "NOT", "EXISTS"]), inner),
        st.builds(ex.Postfix, st.sampled_from(["IS NULL", "IS NOT TRUE", "IS JSON ARRAY", "FORMAT JSON"]), inner),
        st.builds(ex.Between, inner, inner, inner, st.booleans(), st.booleans()),
        st.builds(ex.Like, st.sampled_from(["LIKE", "SIMILAR TO"]), inner, inner, optional, st.booleans()),
        st.builds(ex.InList, inner, some, st.booleans()),
        st.builds(ex.Quantified, st.sampled_from(["=", "<"]), st.sampled_from(["SOME", "ALL"]), inner, some),
        st.builds(ex.Case, optional, st.lists(conditions, min_size=1, max_size=2).map(tuple), optional),
        st.builds(ex.Cast, st.sampled_from(["CAST", "TRY_CAST"]), inner, st.just(ty.BasicType("DECIMAL", 10, 2))),
        st.builds(ex.Row, some),
        st.builds(ex.Constructor, st.sampled_from(["ARRAY", "MAP"]), some),
        st.builds(ex.Item, inner, inner),
        st.builds(ex.FunctionCall, columns, some, st.sampled_from([None, "DISTINCT"]), filter=optional),
        st.builds(ex.Trim, inner, st.sampled_from(["BOTH", "LEADING"]), optional),
        st.builds(ex.JsonRead, st.just("JSON_VALUE"), inner, inner),
    )


@given(st.recursive(st.one_of(columns, literals), _compound, max_leaves=12))
@settings(max_examples=300, deadline=None)
def test_a_tree_written_is_read_as_itself(tree: Expression) -> None:
    assert parse_expression(unparse(tree)) == tree


nullable = st.sampled_from([None, True, False])
basic: st.SearchStrategy[TypeNode] = st.one_of(
    st.builds(ty.BasicType, st.sampled_from(["INT", "STRING", "BYTES", "DATE", "VARIANT"]), nullable=nullable),
    st.builds(ty.BasicType, st.sampled_from(["CHAR", "TIME_LTZ", "TIMESTAMP"]), st.integers(0, 9), nullable=nullable),
    st.builds(ty.NamedType, columns, nullable=nullable),
)


def _nested(inner: st.SearchStrategy[TypeNode]) -> st.SearchStrategy[TypeNode]:
    fields = st.lists(st.builds(ty.Field, names, inner, st.none() | st.text(max_size=4)), max_size=3).map(tuple)
    return st.one_of(
        st.builds(ty.CollectionType, st.sampled_from(["ARRAY", "MULTISET"]), inner, nullable=nullable),
        st.builds(ty.MapType, inner, inner, nullable=nullable),
        st.builds(ty.RowType, fields, nullable=nullable),
        st.builds(ty.StructuredType, st.text(max_size=5), fields, nullable=nullable),
    )


@given(st.recursive(basic, _nested, max_leaves=8))
@settings(max_examples=150, deadline=None)
def test_a_type_written_is_read_as_itself(tree: TypeNode) -> None:
    assert parse_type(unparse(tree)) == tree
