"""What the optimizer decides: exchanges that are left out or shared, sides that are built, sets that are kept."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.dataset import DataSet, ExecutionEnvironment, JoinHint, Order, forwarded_fields
from firesteel.dataset.plan.explain import as_json, as_text, exchanges
from firesteel.dataset.plan.optimizer import Step, optimize
from firesteel.errors import ConfigurationError, ProgramError, UnsupportedError
from firesteel.model.functions import MapFunction


@pytest.fixture
def env() -> ExecutionEnvironment:
    return ExecutionEnvironment.get_execution_environment().set_parallelism(2)


def plan(*data_sets: DataSet) -> dict[int, Step]:
    return optimize([each.node for each in data_sets], 2)


def pairs(env: ExecutionEnvironment, count: int = 10) -> DataSet:
    return env.from_collection([(number % 3, number) for number in range(count)])


def step_of(data_set: DataSet) -> Step:
    return plan(data_set)[data_set.node.id]


@pytest.mark.feature("DA-08")
def test_a_second_join_on_the_same_key_needs_no_new_exchange(env: ExecutionEnvironment) -> None:
    hint = JoinHint.REPARTITION_HASH_SECOND
    first = pairs(env).join(pairs(env), hint).where(0).equal_to(0).project_first(0, 1).project_second(1)
    second = first.join(pairs(env), hint).where(0).equal_to(0)
    steps = plan(second)
    assert steps[second.node.id].ships[0].kept
    assert exchanges(steps.values()) == 3
    assert "no exchange: already together by (0)" in as_text(steps.values())


@pytest.mark.feature("DA-08")
def test_two_joins_of_one_set_on_the_same_key_share_its_exchange(env: ExecutionEnvironment) -> None:
    hint, shared = JoinHint.REPARTITION_HASH_SECOND, pairs(env).map(lambda pair: pair)
    one = shared.join(pairs(env), hint).where(0).equal_to(0)
    other = shared.join(pairs(env), hint).where(0).equal_to(1)
    steps = plan(one, other)
    assert exchanges(steps.values()) == 3
    assert not steps[shared.node.id].cached, "what is exchanged once need not be kept"


def test_another_key_or_another_number_of_tasks_needs_an_exchange(env: ExecutionEnvironment) -> None:
    together = pairs(env).partition_by_hash(0)
    assert step_of(together.group_by(0).sum(1)).ships[0].kept
    assert not step_of(together.group_by(1).sum(0)).ships[0].kept
    assert not step_of(together.group_by(0).sum(1).set_parallelism(3)).ships[0].kept


def test_functions_forward_fields_only_if_they_say_so(env: ExecutionEnvironment) -> None:
    @forwarded_fields("f0->f1")
    class Swapped(MapFunction):
        def map(self, value: Any) -> Any:
            return value[1], value[0]

    together = pairs(env).partition_by_hash(0)
    assert step_of(together.map(Swapped()).group_by(1).sum(0)).ships[0].kept
    assert not step_of(together.map(Swapped()).group_by(0).sum(1)).ships[0].kept
    assert not step_of(together.map(lambda value: value).group_by(0).sum(1)).ships[0].kept
    assert step_of(together.map(lambda value: value).with_forwarded_fields("f0").group_by(0).sum(1)).ships[0].kept
    assert step_of(together.filter(lambda value: True).group_by(0).sum(1)).ships[0].kept


def test_a_set_that_is_used_twice_is_kept(env: ExecutionEnvironment) -> None:
    used = pairs(env).map(lambda pair: pair)
    steps = plan(used.map(lambda pair: pair), used.filter(lambda pair: True))
    assert steps[used.node.id].cached
    assert "computed once and kept" in as_text(steps.values())
    assert not step_of(pairs(env)).cached


@pytest.mark.parametrize(
    ("hint", "local"),
    [
        (JoinHint.REPARTITION_HASH_FIRST, "hash join, first input built"),
        (JoinHint.REPARTITION_HASH_SECOND, "hash join, second input built"),
        (JoinHint.REPARTITION_SORT_MERGE, "sort-merge join"),
        (JoinHint.BROADCAST_HASH_FIRST, "hash join, first input built in every task"),
        (JoinHint.BROADCAST_HASH_SECOND, "hash join, second input built in every task"),
    ],
)
@pytest.mark.feature("DA-07")
def test_a_hint_chooses_the_join(env: ExecutionEnvironment, hint: JoinHint, local: str) -> None:
    assert step_of(pairs(env).join(pairs(env), hint).where(0).equal_to(0)).local == local


def test_the_smaller_side_is_built_and_a_tiny_one_is_sent_everywhere(env: ExecutionEnvironment) -> None:
    small, large, tiny = pairs(env, 900), pairs(env, 1000), pairs(env, 3)
    assert step_of(small.join(large).where(0).equal_to(0)).local == "hash join, first input built"
    assert step_of(large.join(small).where(0).equal_to(0)).local == "hash join, second input built"
    assert step_of(large.join(tiny).where(0).equal_to(0)).local == "hash join, second input built in every task"
    assert step_of(tiny.left_outer_join(large).where(0).equal_to(0)).local == "hash join, first input built"


def test_an_outer_join_refuses_to_send_out_the_side_that_it_keeps(env: ExecutionEnvironment) -> None:
    with pytest.raises(UnsupportedError, match="left outer join"):
        pairs(env).left_outer_join(pairs(env), JoinHint.BROADCAST_HASH_FIRST)


def test_the_plan_of_an_iteration_shows_its_step(env: ExecutionEnvironment) -> None:
    static = pairs(env).map(lambda pair: pair)
    begin = pairs(env).iterate(5)
    result = begin.close_with(begin.join(static).where(0).equal_to(0).with_(lambda one, other: one))
    steps = plan(result)
    step = steps[result.node.id]
    assert [inner.node.kind for inner in step.inner.values()] == ["join"]
    assert static.node.id in steps, "what does not change between supersteps belongs to the program around"
    assert steps[static.node.id].cached
    assert '"step_function"' in as_json(steps.values())


def test_all_steps_that_depend_on_the_iteration_belong_to_it(env: ExecutionEnvironment) -> None:
    begin = pairs(env).iterate(5)
    longer = begin.map(lambda pair: pair)
    result = begin.close_with(begin.union(longer).distinct())
    assert longer.node.id in plan(result)[result.node.id].inner


def test_an_iteration_whose_result_does_not_depend_on_it_is_refused(env: ExecutionEnvironment) -> None:
    begin = pairs(env).iterate(5)
    with pytest.raises(ProgramError, match="does not depend"):
        begin.close_with(pairs(env))


def test_data_sets_of_two_environments_do_not_mix(env: ExecutionEnvironment) -> None:
    other = ExecutionEnvironment.get_execution_environment()
    with pytest.raises(ConfigurationError, match="same environment"):
        pairs(env).union(pairs(other))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda data: data.group_by(),
        lambda data: data.group_by(0, lambda record: record),
        lambda data: data.first(0),
        lambda data: data.map(3),
        lambda data: data.reduce_group(lambda: None),
        lambda data: data.join(data).where(0, 1).equal_to(0),
        lambda data: data.iterate(0),
        lambda data: data.sort_partition(0, "descending"),
        lambda data: data.aggregate("sum", 0),
        lambda data: data.set_parallelism(0),
        lambda data: data.with_forwarded_fields("->f1"),
        lambda data: data.output(object()),
        lambda data: data.partition_by_range(0).with_orders(Order.ASCENDING, Order.ASCENDING),
    ],
)
def test_wrong_arguments_are_refused_when_the_program_is_built(env: ExecutionEnvironment, wrong: Any) -> None:
    with pytest.raises(ConfigurationError):
        wrong(pairs(env))


def test_nothing_to_execute_says_what_to_do(env: ExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="no sink was defined"):
        env.execute()


def test_a_program_runs_in_this_process_if_it_is_told_to() -> None:
    from firesteel.common import Configuration

    told = Configuration.from_dict({"execution.target": "in-process"})
    parameters = Configuration.from_dict({"pipeline.global-job-parameters": "greeting:hello"})
    for env in (
        ExecutionEnvironment.get_execution_environment(told),
        ExecutionEnvironment.create_collections_environment(),
        ExecutionEnvironment.create_collections_environment(parameters),
    ):
        env.set_parallelism(3)
        assert sorted(env.from_elements(1, 2, 3, 4).map(lambda n: (n % 2, n)).group_by(0).sum(1).collect()) == [
            (0, 6),
            (1, 4),
        ]
    assert "execution.target" not in parameters.to_dict()


HASH = JoinHint.REPARTITION_HASH_FIRST


def test_records_are_together_after_an_outer_join_by_the_side_that_is_kept(env: ExecutionEnvironment) -> None:
    def joined(one: DataSet, forwarded: str) -> DataSet:
        pair = one.left_outer_join(pairs(env), HASH).where(0).equal_to(0).with_(lambda mine, other: mine)
        by_side = {"first": pair.with_forwarded_fields_first, "second": pair.with_forwarded_fields_second}
        return by_side[forwarded]("f0").group_by(0).sum(1)

    assert step_of(joined(pairs(env), "first")).ships[0].kept
    assert not step_of(joined(pairs(env), "second")).ships[0].kept, "a record without a partner has no key there"


def test_records_are_together_after_a_co_group_that_copies_the_key_of_both_sides(env: ExecutionEnvironment) -> None:
    def grouped() -> DataSet:
        return pairs(env).co_group(pairs(env)).where(0).equal_to(1).with_(lambda mine, others: mine)

    one_side = grouped().with_forwarded_fields_first("f0")
    both = grouped().with_forwarded_fields_first("f0").with_forwarded_fields_second("f1->f0")
    differently = grouped().with_forwarded_fields_first("f0").with_forwarded_fields_second("f1->f1")
    kept = [step_of(each.group_by(0).sum(1)).ships[0].kept for each in (one_side, both, differently)]
    assert kept == [False, True, False]


@pytest.mark.feature("DA-08")
def test_a_superstep_that_leaves_records_as_it_finds_them_needs_no_exchange_for_them(env: ExecutionEnvironment) -> None:
    def exchanges_of_superstep(initial: DataSet, forwarded: str) -> int:
        iteration = initial.iterate(10)
        joined = iteration.join(pairs(env).partition_by_hash(0), HASH).where(0).equal_to(0).with_(lambda one, _: one)
        result = iteration.close_with(joined.with_forwarded_fields_first(forwarded))
        return exchanges(step_of(result).inner.values())

    together = pairs(env).partition_by_hash(0)
    assert exchanges_of_superstep(together, "f0") == 0
    assert exchanges_of_superstep(together, "f1") == 1, "after the first superstep they are somewhere else"
    assert exchanges_of_superstep(pairs(env), "f0") == 1, "before the first superstep they are somewhere else"
