"""Iterations: a step of the program that is repeated on its own result."""

from __future__ import annotations

from typing import Any

from firesteel.dataset.data_set import DataSet
from firesteel.dataset.functions import Aggregator, ConvergenceCriterion
from firesteel.dataset.keys import Keys
from firesteel.dataset.plan.nodes import BulkIterationNode, DeltaIterationNode, StepInputNode, dynamic_nodes
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.plan.graph import user_call_site

__all__ = ["DeltaIteration", "DeltaIterationResultSet", "IterativeDataSet"]


def check_iterations(where: str, count: Any) -> int:
    """The most supersteps of an iteration, or an error."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ConfigurationError(f"{where}: the most iterations must be a whole number of at least 1, got {count!r}")
    return count


class _Aggregators:
    """Registering aggregators with an iteration."""

    def __init__(self) -> None:
        self._aggregators: dict[str, Aggregator] = {}
        self._convergence: tuple[str, ConvergenceCriterion] | None = None

    def register_aggregator(self, name: str, aggregator: Aggregator) -> Any:
        """Let the functions of the step add to an aggregator: ``get_iteration_runtime_context()`` gives it to them."""
        if not isinstance(aggregator, Aggregator):
            raise ConfigurationError(f"register_aggregator: expected an Aggregator, got {aggregator!r:.100}")
        self._aggregators[name] = aggregator
        return self

    def register_aggregation_convergence_criterion(
        self, name: str, aggregator: Aggregator, criterion: ConvergenceCriterion
    ) -> Any:
        """The same, and the iteration ends after the superstep in which the criterion says so."""
        if not isinstance(criterion, ConvergenceCriterion):
            raise ConfigurationError(f"expected a ConvergenceCriterion, got {criterion!r:.100}")
        self._convergence = (name, criterion)
        return self.register_aggregator(name, aggregator)


class IterativeDataSet(DataSet, _Aggregators):
    """The data set that a superstep begins with: what the iteration began with, then the result of the one before."""

    def __init__(self, initial: DataSet, max_iterations: int) -> None:
        _Aggregators.__init__(self)
        node = StepInputNode("Partial solution", user_call_site(), (initial.node,))
        DataSet.__init__(self, initial.get_execution_environment(), node)
        self._initial = initial
        self._max_iterations = check_iterations("iterate", max_iterations)

    def get_max_iterations(self) -> int:
        """How many supersteps there are at the most."""
        return self._max_iterations

    def close_with(self, iteration_result: DataSet, termination_criterion: DataSet | None = None) -> DataSet:
        """End the step.

        :param iteration_result: What the next superstep begins with, and the result after the last one.
        :param termination_criterion: The iteration ends when this data set is empty after a superstep.
        """
        assert isinstance(self._node, StepInputNode)
        ends = [iteration_result.node, *([termination_criterion.node] if termination_criterion is not None else [])]
        if iteration_result.node.id not in dynamic_nodes([self._node], ends):
            raise ProgramError(
                f"iterate() (at {self._node.call_site}): the result that close_with() was given does not depend on the "
                "data set of the iteration, so every superstep would give the same"
            )
        node = BulkIterationNode(
            f"Iteration of at most {self._max_iterations}",
            user_call_site(),
            (self._initial.node,),
            step_input=self._node,
            result=iteration_result.node,
            criterion=None if termination_criterion is None else termination_criterion.node,
            max_iterations=self._max_iterations,
            aggregators=self._aggregators,
            convergence=self._convergence,
        )
        return DataSet(self._environment, node)


class DeltaIteration(_Aggregators):
    """An iteration over a solution set, which each superstep changes in part, and a workset that says where to look."""

    def __init__(self, solution: DataSet, workset: DataSet, max_iterations: int, keys: Keys) -> None:
        super().__init__()
        self._environment = solution.get_execution_environment()
        self._initial = (solution, workset)
        self._max_iterations = check_iterations("iterate_delta", max_iterations)
        self._keys = keys
        self._solution_node = StepInputNode("Solution set", user_call_site(), (solution.node,), role="solution set")
        self._workset_node = StepInputNode("Workset", user_call_site(), (workset.node,), role="workset")
        self._parallelism: int | None = None
        self._name: str | None = None

    def get_solution_set(self) -> DataSet:
        """The solution set as it is in a superstep: to be joined or co-grouped with on its key."""
        return DataSet(self._environment, self._solution_node)

    def get_workset(self) -> DataSet:
        """The workset of a superstep."""
        return DataSet(self._environment, self._workset_node)

    def get_initial_solution_set(self) -> DataSet:
        """What the solution set begins with."""
        return self._initial[0]

    def get_initial_workset(self) -> DataSet:
        """What the workset begins with."""
        return self._initial[1]

    def set_parallelism(self, parallelism: int) -> DeltaIteration:
        """In how many tasks the solution set is kept."""
        self._parallelism = parallelism
        return self

    def name(self, name: str) -> DeltaIteration:
        """Name the iteration, for plans and errors."""
        self._name = name
        return self

    def close_with(self, delta: DataSet, new_workset: DataSet) -> DataSet:
        """End the step. The result is the solution set after the last superstep: when the workset is empty, or at most.

        :param delta: Records that are added to the solution set, or replace those with the same key.
        :param new_workset: The workset of the next superstep.
        """
        node = DeltaIterationNode(
            self._name or f"Delta iteration of at most {self._max_iterations}",
            user_call_site(),
            (self._initial[0].node, self._initial[1].node),
            parallelism=self._parallelism,
            keys=self._keys,
            solution_input=self._solution_node,
            workset_input=self._workset_node,
            delta=delta.node,
            next_workset=new_workset.node,
            max_iterations=self._max_iterations,
            aggregators=self._aggregators,
            convergence=self._convergence,
        )
        return DeltaIterationResultSet(self._environment, node)


class DeltaIterationResultSet(DataSet):
    """The solution set after the last superstep."""
