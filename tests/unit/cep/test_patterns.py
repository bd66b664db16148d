"""What patterns refuse, and the other ways to write and to look at them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from firesteel.cep import (
    AfterMatchSkipStrategy,
    GroupPattern,
    IterativeCondition,
    MalformedPatternException,
    Pattern,
    SimpleCondition,
    WithinType,
)
from firesteel.cep.automaton import Matcher
from firesteel.common import Duration, Time
from firesteel.errors import ConfigurationError, ProgramError


def begin(name: str = "a") -> Any:
    return Pattern.begin(name)


MALFORMED: dict[str, tuple[Callable[[], Any], str]] = {
    "quantifier twice": (lambda: begin().times(2).one_or_more(), "a second quantifier"),
    "times twice": (lambda: begin().times(2).times(3), "a second quantifier"),
    "times after or more": (lambda: begin().times_or_more(2).times(3), "a second quantifier"),
    "times of nothing": (lambda: begin().times(0), "at least 1"),
    "times of less": (lambda: begin().times(-1, 2), "at least 0"),
    "limits the wrong way round": (lambda: begin().times(3, 2), "upper limit"),
    "nothing or more": (lambda: begin().times_or_more(0), "at least 1"),
    "optional twice": (lambda: begin().optional().optional(), r"optional\(\) twice"),
    "optional behind greedy": (lambda: begin().times(1, 2).greedy().followed_by("b").optional(), "behind the greedy"),
    "greedy once": (lambda: begin().greedy(), "takes a single event"),
    "greedy combinations": (lambda: begin().one_or_more().allow_combinations().greedy(), "exclude each other"),
    "greedy group": (lambda: Pattern.begin(begin().next("b")).one_or_more().greedy(), "group"),
    "greedy not": (lambda: begin().not_followed_by("b").greedy(), "takes no events"),
    "times of a not": (lambda: begin().not_next("b").times(2), "takes no events"),
    "or more of a not": (lambda: begin().not_followed_by("b").one_or_more(), "takes no events"),
    "optional not": (lambda: begin().not_followed_by("b").optional(), "cannot be optional"),
    "not behind optional": (lambda: begin().next("b").optional().not_followed_by("c"), "behind the optional stage 'b'"),
    "not next behind optional": (lambda: begin().optional().not_next("c"), "behind the optional stage 'a'"),
    "not of a group": (lambda: begin().not_next(begin("b")), "cannot be excluded"),
    "consecutive once": (lambda: begin().consecutive(), "takes a single event"),
    "combinations once": (lambda: begin().allow_combinations(), "takes a single event"),
    "consecutive twice": (lambda: begin().one_or_more().consecutive().consecutive(), r"consecutive\(\) twice"),
    "combinations twice": (lambda: begin().times(2).allow_combinations().allow_combinations(), "twice"),
    "both": (lambda: begin().one_or_more().consecutive().allow_combinations(), "exclude each other"),
    "both, the other way": (lambda: begin().one_or_more().allow_combinations().consecutive(), "exclude each other"),
    "until without a loop": (lambda: begin().times(3).until(bool), "has none without limit"),
    "until twice": (lambda: begin().one_or_more().until(bool).until(bool), r"until\(\) twice"),
    "where on a group": (lambda: Pattern.begin(begin()).where(bool), "stages inside"),
    "or on a group": (lambda: begin().next(begin("b")).or_(bool), "stages inside"),
    "subtype on a group": (lambda: Pattern.begin(begin()).subtype(int), "stages inside"),
    "names twice": (lambda: begin().next("b").followed_by("a").compile(), "two stages have the name 'a'"),
    "names twice in a group": (lambda: begin().next(begin("b").next("a")).compile(), "two stages have the name 'a'"),
    "the name of the end": (lambda: begin("$endState$").compile(), "no stage may have the name"),
    "open end": (lambda: begin().not_followed_by("b").compile(), r"without within\(\)"),
    "skip to nowhere": (
        lambda: Pattern.begin("a", AfterMatchSkipStrategy.skip_to_first("midle")).next("middle").compile(),
        "no stage of that name",
    ),
    "window between events that is longer": (
        lambda: begin().next("b").within(5, WithinType.PREVIOUS_AND_CURRENT).within(3).compile(),
        "longer than",
    ),
    "a loop of nothing": (
        lambda: Pattern.begin(begin().optional().next("b").optional()).one_or_more().compile(),
        "repeated without limit",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_means_nothing_is_refused_with_the_users_line(case: str) -> None:
    build, problem = MALFORMED[case]
    with pytest.raises(MalformedPatternException, match=problem) as error:
        build()
    assert f"{__file__}:" in str(error.value)
    assert isinstance(error.value, ProgramError)


WRONG_ARGUMENTS: list[Callable[[], Any]] = [
    lambda: Pattern.begin(""),
    lambda: Pattern.begin(3),  # type: ignore[arg-type]
    lambda: Pattern.begin("a", "skip"),  # type: ignore[arg-type]
    lambda: begin().where(3),
    lambda: begin().where(lambda: True),
    lambda: begin().where(lambda one, two, three: True),
    lambda: begin().where(SimpleCondition),
    lambda: begin().subtype("int"),
    lambda: begin().within("a minute"),
    lambda: begin().within(3, "both"),
    lambda: begin().explain("png"),
    lambda: AfterMatchSkipStrategy.skip_to_first(None),  # type: ignore[arg-type]
    lambda: AfterMatchSkipStrategy.skip_past_last_event().throw_exception_on_miss(),
]


@pytest.mark.parametrize("number", range(len(WRONG_ARGUMENTS)))
def test_wrong_arguments_are_refused(number: int) -> None:
    with pytest.raises(ConfigurationError):
        WRONG_ARGUMENTS[number]()


def test_what_was_said_can_be_read() -> None:
    pattern = begin("start").followed_by("middle").subtype(str).times(2, 4).within(Time.seconds(3))
    assert pattern.get_name() == "middle"
    assert pattern.get_previous().get_name() == "start"
    assert pattern.get_window_time() == 3000
    assert (pattern.get_quantifier().least, pattern.get_quantifier().most) == (2, 4)
    assert pattern.get_condition().filter("text") and not pattern.get_condition().filter(3)
    group = pattern.next(begin("inside"))
    assert isinstance(group, GroupPattern)
    assert group.get_raw_pattern().get_name() == "inside"


def test_all_ways_to_say_how_often() -> None:
    def of(pattern: Pattern) -> tuple[Any, ...]:
        quantifier = pattern.get_quantifier()
        return str(quantifier), quantifier.window

    assert of(begin().times(2)) == ("{2}", None)
    assert of(begin().times(2, Duration.of_seconds(5))) == ("{2}", 5000)
    assert of(begin().times(2, 4)) == ("{2,4}", None)
    assert of(begin().times(2, 4, Time.seconds(5))) == ("{2,4}", 5000)
    assert of(begin().times(0, 3)) == ("{1,3}?", None)
    assert of(begin().times_or_more(2, Time.seconds(1))) == ("{2,}", 1000)
    assert of(begin().one_or_more(Time.seconds(1)).optional()) == ("*", 1000)
    assert of(begin().optional().one_or_more()) == ("*", None)


def test_conditions_of_all_kinds() -> None:
    class Even(SimpleCondition):
        def filter(self, value: int) -> bool:  # type: ignore[override]
            return value % 2 == 0

    class More(IterativeCondition):
        def filter(self, value: int, ctx: IterativeCondition.Context) -> bool:
            return all(value > before for before in ctx.get_events_for_pattern("a"))

    def found(pattern: Pattern) -> list[Any]:
        matcher = Matcher(pattern.compile())
        return [match for number in (4, 3, 6, 1) for match in matcher.process(number, 1)]

    assert found(begin().where(Even())) == [{"a": [4]}, {"a": [6]}]
    assert found(begin().where(SimpleCondition.of(lambda value: value > 3)).where(Even())) == [{"a": [4]}, {"a": [6]}]
    assert found(begin().where(lambda value: value > 5).or_(lambda value: value < 2)) == [{"a": [6]}, {"a": [1]}]
    assert found(begin().where(Even()).next("b").where(More())) == [{"a": [4], "b": [3]}, {"a": [6], "b": [1]}][:0]
    rising = begin().where(Even()).followed_by("b").where(lambda value, ctx: value > ctx.get_events_for_pattern("a")[0])
    assert found(rising) == [{"a": [4], "b": [6]}]


def test_the_shortest_window_counts_and_none_is_none() -> None:
    pattern = begin("start").followed_by("middle").within(Time.seconds(10)).followed_by("then").within(Time.seconds(20))
    assert pattern.followed_by("end").compile().window == 10_000
    pattern = begin("start").followed_by("middle").within(10).followed_by("then").within(0).followed_by("end")
    assert pattern.compile().window == 0
    between = WithinType.PREVIOUS_AND_CURRENT
    pattern = begin("start").followed_by("middle").within(10, between).followed_by("then").within(20, between)
    assert pattern.followed_by("end").compile().state_windows == {"middle": 10, "then": 20}


def test_whether_a_pattern_could_be_matched_without_events() -> None:
    nothing = [begin().optional(), begin().optional().next("b").optional(), begin().one_or_more().optional()]
    nothing.append(begin().times(0, 3).next("b").optional())
    assert [pattern.compile().may_match_nothing for pattern in nothing] == [True] * 4
    something = [begin(), begin().one_or_more(), begin().one_or_more().next("b").optional()]
    assert [pattern.compile().may_match_nothing for pattern in something] == [False] * 3


# ---- text and YAML -------------------------------------------------------------------------------------------------


CONDITIONS: dict[str, Any] = {name: (lambda event, name=name: event[0] == name) for name in "abcd"}


def matches(pattern: Pattern, text: str) -> list[str]:
    """The matches in ``"a1 b2 ..."``, each as text."""
    matcher = Matcher(pattern.compile())
    found = []
    for time, event in enumerate(text.split()):
        found += [
            " ".join(each for events in match.values() for each in events) for match in matcher.process(event, time)
        ]
    return found


TEXTS = {
    "a b": ("a1 b1 a2 c1 b2", ["a1 b1"]),
    "a -> b": ("a1 c1 b1 b2", ["a1 b1"]),
    "a ->> b": ("a1 c1 b1 b2", ["a1 b1", "a1 b2"]),
    "a b+ c": ("a1 b1 b2 c1", ["a1 b1 b2 c1"]),
    "a b* c": ("a1 c1 a2 b1 c2", ["a1 c1", "a2 b1 c2"]),
    "a b? c": ("a1 c1 a2 b1 c2", ["a1 c1", "a2 b1 c2"]),
    "a b{2} c": ("a1 b1 b2 c1 a2 b3 c2", ["a1 b1 b2 c1"]),
    "a b{2,} c": ("a1 b1 b2 b3 c1", ["a1 b1 b2 b3 c1"]),
    "a b{1,2} c": ("a1 b1 c1 a2 b2 b3 b4 c2", ["a1 b1 c1"]),
    "a -> b{2}[consecutive]": ("a1 b1 c1 b2 b3", []),
    "a -> b{2}": ("a1 b1 c1 b2 b3", ["a1 b1 b2"]),
    "a b{2}[relaxed]": ("a1 b1 c1 b2 b3", ["a1 b1 b2"]),
    "a -> b+[greedy] -> c": ("a1 b1 b2 c1", ["a1 b1 b2 c1"]),
    "a b+[until=d]": ("a1 b1 d1 b2", ["a1 b1"]),
    "a !b c": ("a1 b1 c1 a2 c2", ["a2 c2"]),
    "a -> !b -> c": ("a1 b1 c1 a2 d1 c2", ["a2 c2"]),
    "(a b){2}": ("a1 b1 a2 b2", ["a1 a2 b1 b2"]),
    "a (b c)+ d": ("a1 b1 c1 b2 c2 d1", ["a1 b1 b2 c1 c2 d1"]),
    "first:a second:a": ("a1 a2 a3", ["a1 a2", "a2 a3"]),
    "first:a second:a skip past last event": ("a1 a2 a3 a4", ["a1 a2", "a3 a4"]),
    "a any:*": ("a1 d1", ["a1 d1"]),
    "a -> b within 2 ms": ("a1 c1 b1 a2 b2", ["a2 b2"]),
    "a  b+ c? within 10 min": ("a1 b1 c1", ["a1 b1", "a1 b1 c1"]),
}


@pytest.mark.feature("CE-01")
@pytest.mark.parametrize("text", TEXTS)
def test_patterns_as_text(text: str) -> None:
    events, expected = TEXTS[text]
    assert matches(Pattern.from_text(text, CONDITIONS), events) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no stage"),
        ("a x", "no condition 'x'; known are: a, b, c, d"),
        ("a (b", r"'\)' is missing"),
        ("a )", "not expected"),
        ("-> a", "not expected"),
        ("a ->", "a stage is missing"),
        ("!a", "behind another stage"),
        ("a within soon", "a number and a unit"),
        ("a skip everything", "after 'skip' comes"),
        ("a+[lazy]", "no option 'lazy'"),
        ("a+[until]", "needs a value"),
        ("a & b", "cannot read it from '& b' on"),
        ("a a", "two stages have the name"),
    ],
)
def test_a_text_that_means_nothing_is_refused(text: str, problem: str) -> None:
    with pytest.raises(MalformedPatternException, match=problem):
        Pattern.from_text(text, CONDITIONS).compile()


YAML = """
stages:
  - begin: first
    where: a
  - followed_by: some
    where: [b]
    or: d
    times: "{1,2}"
    greedy: true
  - not_followed_by: none
    where: a
  - followed_by:
      - begin: x
        where: c
      - next: y
        where: d
    optional: false
within: 10 min
skip: past last event
"""


def test_patterns_as_yaml() -> None:
    pattern = Pattern.from_yaml(YAML, CONDITIONS)
    assert pattern.get_window_time() == 600_000
    assert pattern.get_after_match_skip_strategy() == AfterMatchSkipStrategy.skip_past_last_event()
    assert matches(pattern, "a1 b1 d1 c1 d2") == ["a1 b1 d1 c1 d2"]
    assert matches(pattern, "a1 b1 a2 c1 d2") == []
    assert matches(Pattern.from_yaml("{pattern: a b, skip: to next}", CONDITIONS), "a1 b1") == ["a1 b1"]
    within = {"time": "2 ms", "between": "previous and current"}
    stages = [{"begin": "a", "where": "a"}, {"next": "b", "within": within}]
    assert Pattern.from_yaml({"stages": stages}, {"a": bool}).get_window_time(WithinType.PREVIOUS_AND_CURRENT) == 2


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[a, b]", "a mapping"),
        ("{stages: []}", "at least one entry"),
        ("{stages: [{next: a}]}", "the first one 'begin'"),
        ("{stages: [{begin: a, wher: a}]}", "wher"),
        ("{pattern: a, stages: []}", "either"),
        ("{within: 3 s}", "either"),
        ("{stages: [{begin: a, where: x}]}", "no condition 'x'"),
        ("{stages: [", "no YAML"),
        ("{stages: [a]}", "a stage is a mapping"),
    ],
)
def test_yaml_that_means_nothing_is_refused(content: str, problem: str) -> None:
    with pytest.raises(MalformedPatternException, match=problem):
        Pattern.from_yaml(content, CONDITIONS)


# ---- looking at patterns -------------------------------------------------------------------------------------------


def test_explain_says_what_an_event_may_do_in_each_state() -> None:
    text = Pattern.from_text("a -> b+ -> !d c within 5 s", CONDITIONS).explain()
    assert text.startswith("pattern a -> b+ -> !d c within 5000 ms\na (start)\n")
    assert re.search(r"take +-> \(match\) +if c", text)
    assert "proceed -> d!" in text


def test_explain_draws_a_picture_with_all_states() -> None:
    pattern = Pattern.from_text("a -> b+ -> !d c within 5 s", CONDITIONS)
    picture = ElementTree.fromstring(pattern.explain("svg"))
    texts = {element.text for element in picture.iter() if element.tag.endswith("text")}
    assert {"a", "b", "c", "d!", "(match)"} <= texts
    assert sum(element.tag.endswith("rect") for element in picture.iter()) >= 5


def test_why_tells_the_way_of_a_match() -> None:
    pattern = Pattern.from_text("a (b c)+ d? -> e:a", CONDITIONS)
    told = pattern.why({"a": ["a1"], "b": ["b1", "b2"], "c": ["c1", "c2"], "e": ["a2"]})
    assert [line.split(",")[0] for line in told.splitlines() if line[0].isdigit()] == [
        "1. begins with 'a1'",
        "2. next: 'b1'",
        "3. next: 'c1'",
        "4. next: 'b2'",
        "5. next: 'c2'",
        "6. followed by: 'a2'",
    ]
    assert "'d' was left out" in told
    assert "taken by 'e': a holds" in told


def test_why_knows_what_is_no_match() -> None:
    pattern = Pattern.from_text("a b", CONDITIONS)
    for match in ({"a": ["a1"]}, {"a": ["b1"], "b": ["b2"]}, {"x": ["a1"]}):
        with pytest.raises(ProgramError, match="why"):
            pattern.why(match)


def test_every_match_that_is_found_can_be_explained() -> None:
    for text, (events, _) in TEXTS.items():
        pattern = Pattern.from_text(text, CONDITIONS)
        matcher = Matcher(pattern.compile())
        for time, event in enumerate(events.split()):
            for match in matcher.process(event, time):
                assert pattern.why(match).count("taken by") == sum(map(len, match.values())), text
