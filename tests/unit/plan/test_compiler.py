"""From graph to plan: parallelism, uids, edges, chains, levels, names of edges, coordinators."""

from __future__ import annotations

import pickle

import pytest

from firesteel.errors import ConfigurationError, FiresteelError, ProgramError, UnsupportedError
from firesteel.model.output_tag import OutputTag
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime import partitioners
from firesteel.runtime.iteration import IterationHead, IterationTail
from firesteel.runtime.partitioners import Partitioning
from tests.unit.plan.programs import Program, same, word_count


def chains(plan: JobPlan) -> list[tuple[int, str]]:
    return [(chain.level, chain.name) for chain in plan.chains]


def test_a_line_without_shuffles_is_one_chain() -> None:
    program = Program()
    program.end(program.map(program.map(program.numbers())))
    plan = program.compiled()
    assert chains(plan) == [(0, "Source: numbers -> map -> map -> Sink: end")]
    assert plan.edges == () and plan.level_count == 1 and plan.bounded


def test_a_key_by_begins_a_level_and_its_edge_knows_both_ends() -> None:
    plan = word_count(parallelism=3)
    assert chains(plan) == [(0, "Source: numbers -> split"), (1, "count -> Sink: end")]
    (edge,) = plan.edges
    assert (edge.kind, edge.producers, edge.targets, edge.level, edge.max_parallelism) == ("HASH", 3, 3, 1, 128)
    assert plan.chains[0].outputs == plan.chains[1].inputs == (edge,)
    assert edge.name == (0, "2-split", "", 0)
    assert [operator.keyed for operator in plan.chains[1].operators] == [True, False]


def test_the_plan_is_frozen_and_travels() -> None:
    plan = word_count()
    assert pickle.loads(pickle.dumps(plan.chains)) == plan.chains
    with pytest.raises(AttributeError):
        plan.chains[0].level = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"chaining": "always"}, ["Source: numbers -> map -> Sink: end"]),
        ({"chaining": "head"}, ["Source: numbers", "map -> Sink: end"]),
        ({"chaining": "never"}, ["Source: numbers", "map", "Sink: end"]),
        ({"parallelism": 1}, ["Source: numbers", "map", "Sink: end"]),
        ({"slot_sharing_group": "own"}, ["Source: numbers", "map -> Sink: end"]),
    ],
)
def test_what_keeps_operators_from_being_chained(settings: dict[str, object], expected: list[str]) -> None:
    program = Program()
    program.end(program.map(program.numbers(), **settings))
    assert [chain.name for chain in program.compiled().chains] == expected


def test_chaining_can_be_switched_off() -> None:
    program = Program()
    program.end(program.map(program.numbers()))
    assert len(program.compiled(chaining=False).chains) == 3


def test_a_level_is_one_more_than_the_highest_that_it_reads() -> None:
    program = Program()
    deep = program.map(program.key_by(program.map(program.key_by(program.numbers()), "first")), "second")
    program.end(program.union([program.key_by(deep), program.key_by(program.numbers("others"))]))
    plan = program.compiled()
    assert {chain.name: chain.level for chain in plan.chains}["Sink: end"] == 3
    assert plan.width(3) == 2 and [chain.name for chain in plan.level(0)] == ["Source: numbers", "Source: others"]


def test_partitioning_between_different_parallelisms() -> None:
    program = Program()
    program.end(program.map(program.numbers(), parallelism=1))
    assert [edge.kind for edge in program.compiled(2).edges] == ["REBALANCE", "REBALANCE"]
    program = Program()
    forward = program.partition(program.numbers(), "forward()", Partitioning(partitioners.FORWARD))
    program.end(forward, parallelism=1)
    with pytest.raises(ProgramError, match=r"forward\(\).*parallelism 2.*parallelism 1"):
        program.compiled(2)


def test_edges_are_named_by_input_producer_and_tag_whatever_stands_before() -> None:
    def names(edited: bool) -> list[tuple[int, str, str, int]]:
        program = Program()
        if edited:
            program.end(program.key_by(program.numbers("new", uid="new")), "new end", uid="new end")
        numbers = program.numbers(uid="numbers")
        split = program.map(numbers, "split", uid="split", chaining="never")
        late = program.side_output(split, OutputTag("late"))
        both = program.union([program.key_by(numbers), program.key_by(numbers), program.key_by(late)])
        program.end(both, uid="sink")
        return [edge.name for edge in program.compiled().edges if edge.info.uid == "sink"]

    expected = [(0, "numbers", "", 0), (0, "numbers", "", 1), (0, "split", OutputTag("late").name, 0)]
    assert names(edited=False) == names(edited=True) == expected


def test_several_inputs_are_several_edges_to_one_operator() -> None:
    program = Program()
    sources = [program.numbers(name) for name in "abc"]
    program.end(program.operator("merge", sources, same))
    plan = program.compiled()
    merge = next(chain for chain in plan.chains if chain.name.startswith("merge"))
    assert [(edge.input_index, edge.name[1]) for edge in merge.inputs] == [
        (0, "1-Source: a"),
        (1, "2-Source: b"),
        (2, "3-Source: c"),
    ]
    assert merge.operators[0].inputs == 3


def test_uids_are_unique_and_the_program_s_own_if_it_says() -> None:
    program = Program()
    program.end(program.map(program.numbers(), uid="mine"))
    uids = [operator.info.uid for operator in program.compiled().chains[0].operators]
    assert uids == ["1-Source: numbers", "mine", "3-Sink: end"]
    program.end(program.numbers(uid="mine"))
    with pytest.raises(ProgramError, match=r"two operators have the uid 'mine': 'map' .*'Source: numbers'"):
        program.compiled()


def test_a_parallelism_above_the_key_groups_is_refused() -> None:
    program = Program()
    program.end(program.map(program.numbers(), parallelism=5, max_parallelism=4))
    with pytest.raises(ConfigurationError, match=r"'map' .* parallelism 5.* is 4"):
        program.compiled()


def test_a_program_without_a_sink_is_refused() -> None:
    program = Program()
    program.numbers()
    with pytest.raises(ProgramError, match="no sink"):
        program.compiled()


@pytest.mark.parametrize(
    ("closed", "batch_mode", "error"),
    [(False, False, ProgramError), (True, True, UnsupportedError), (True, False, None)],
)
def test_loops(closed: bool, batch_mode: bool, error: type[FiresteelError] | None) -> None:
    program = Program()
    head = program.loop(program.numbers(), IterationHead)
    if closed:
        program.feedback(head, program.map(head, parallelism=1), IterationTail)
    program.end(head)
    if error is not None:
        with pytest.raises(error, match=r"iterate\(\)"):
            program.compiled(batch_mode=batch_mode)
        return
    tail = next(chain for chain in program.compiled().chains if chain.name == "Feedback")
    assert tail.parallelism == 2, "as wide as the head"


def test_a_factory_that_cannot_be_pickled_names_operator_and_line() -> None:
    program = Program()
    program.end(program.operator("locked", [program.numbers()], (value for value in ())))  # type: ignore[arg-type]
    with pytest.raises(FiresteelError, match=rf"locked.*{__file__}|{__file__}.*locked"):
        program.compiled()
