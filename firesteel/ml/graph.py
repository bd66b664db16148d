"""A graph of stages: tables are named before they exist, and stages say which they read.

::

    builder = GraphBuilder()
    source = builder.create_table_id()
    scaled = builder.add_estimator(scaler, source)[0]
    predicted = builder.add_estimator(classifier, scaled)[0]
    graph = builder.build_estimator([source], [predicted])
    model = graph.fit(training)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import ConfigurationError, ProgramError
from firesteel.ml.api import AlgoOperator, Estimator, Model, Stage, Table
from firesteel.ml.saving import Saved, Saving

__all__ = ["Graph", "GraphBuilder", "GraphModel", "TableId"]


@dataclass(frozen=True)
class TableId:
    """A table of a graph, before there is one."""

    table_id: int


Ids = Sequence[TableId]


@dataclass
class _Node:
    """A stage and the tables it reads and makes."""

    stage: Stage
    fit_inputs: list[TableId] | None  # of an estimator only
    inputs: list[TableId]
    outputs: list[TableId]
    model_data_in: list[TableId] = field(default_factory=list)
    model_data_out: list[TableId] = field(default_factory=list)

    def described(self) -> dict[str, Any]:
        return {name: _numbers(getattr(self, name)) for name in _NODE_TABLES}


_NODE_TABLES = ("fit_inputs", "inputs", "outputs", "model_data_in", "model_data_out")
_GRAPH_TABLES = ("fit_inputs", "inputs", "outputs", "model_data_in", "model_data_out")


def _numbers(ids: Ids | None) -> list[int] | None:
    return None if ids is None else [each.table_id for each in ids]


def _ids(numbers: list[int] | None) -> Any:
    return None if numbers is None else [TableId(number) for number in numbers]


class _Tables:
    """The tables that there are while a graph runs."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._known: dict[TableId, Table] = {}

    def put(self, ids: Ids, tables: Sequence[Table], what: str) -> None:
        if len(tables) > len(ids):
            raise ProgramError(
                f"{self._owner}: {what} has {len(tables)} tables, and the graph expects at most {len(ids)}. "
                "See GraphBuilder.set_max_output_table_num()."
            )
        self._known.update(zip(ids, tables))

    def have(self, ids: Ids) -> bool:
        return all(each in self._known for each in ids)

    def get(self, ids: Ids) -> list[Table]:
        return [self._known[each] for each in ids]


class _StageGraph:
    """What :class:`Graph` and :class:`GraphModel` share: nodes, and the tables that come from and go outside."""

    def __init__(
        self,
        nodes: Sequence[_Node] = (),
        fit_inputs: Ids = (),
        inputs: Ids = (),
        outputs: Ids = (),
        model_data_in: Ids = (),
        model_data_out: Ids = (),
    ) -> None:
        self.nodes = list(nodes)
        self.fit_inputs, self.inputs, self.outputs = list(fit_inputs), list(inputs), list(outputs)
        self.model_data_in, self.model_data_out = list(model_data_in), list(model_data_out)

    def save(self, saving: Saving) -> None:
        saving.stages([node.stage for node in self.nodes])
        saving.value("nodes", [node.described() for node in self.nodes])
        saving.value("tables", {name: _numbers(getattr(self, name)) for name in _GRAPH_TABLES})

    @classmethod
    def load(cls, saved: Saved) -> _StageGraph:
        described = zip(saved.stages(), saved.value("nodes"))
        nodes = [_Node(stage, **{name: _ids(tables[name]) for name in _NODE_TABLES}) for stage, tables in described]
        return cls(nodes, **{name: _ids(numbers) for name, numbers in saved.value("tables").items()})

    def given(self, owner: str, ids: Ids, tables: Sequence[Table]) -> _Tables:
        if len(ids) != len(tables):
            raise ConfigurationError(f"{owner} takes {len(ids)} tables, got {len(tables)}.")
        known = _Tables(owner)
        known.put(ids, tables, "the input")
        return known

    def run(self, known: _Tables, fitting: bool) -> list[_Node]:
        """Run every node whose tables there are; the nodes in their order, with models instead of estimators.

        :param fitting: Whether nodes may be left that wait for tables which only the model will be given.
        """
        results: dict[int, _Node] = {}
        waiting = list(enumerate(self.nodes))
        only_fit = False
        while waiting:
            left = [(at, node) for at, node in waiting if not self._run_node(at, node, known, results, only_fit)]
            if len(left) == len(waiting) and (only_fit or not fitting):
                break
            only_fit = len(left) == len(waiting)
            waiting = left
        for at, node in waiting:
            if node.fit_inputs is not None or not fitting:
                missing = [each for each in [*(node.fit_inputs or ()), *node.inputs] if not known.have([each])]
                raise ProgramError(
                    f"the graph cannot run {node.stage!r}: nothing makes its tables {missing}. "
                    "They are neither inputs of the graph nor outputs of a stage."
                )
            results[at] = node
        return [results[at] for at in sorted(results)]

    @staticmethod
    def _run_node(at: int, node: _Node, known: _Tables, results: dict[int, _Node], only_fit: bool) -> bool:
        """Run a node if its tables are there.

        :param only_fit: An estimator may be fitted though there is nothing yet that its model could transform.
        """
        ready = known.have([*node.inputs, *node.model_data_in])
        if not known.have(node.fit_inputs or ()) or not (ready or (only_fit and node.fit_inputs is not None)):
            return False
        stage = node.stage
        if isinstance(stage, Estimator) and node.fit_inputs is not None:
            stage = stage.fit(*known.get(node.fit_inputs))
        results[at] = _Node(stage, None, node.inputs, node.outputs, node.model_data_in, node.model_data_out)
        if node.model_data_in and ready:
            stage.set_model_data(*known.get(node.model_data_in))  # type: ignore[attr-defined]
        if node.model_data_out and (ready or not node.model_data_in):
            known.put(node.model_data_out, stage.get_model_data(), f"the model data of {stage!r}")  # type: ignore[attr-defined]
        if ready:
            known.put(node.outputs, stage.transform(*known.get(node.inputs)), repr(stage))  # type: ignore[attr-defined]
        return True

    def outcome(self, known: _Tables, ids: Ids) -> list[Table]:
        if not known.have(ids):
            missing = [each for each in ids if not known.have([each])]
            raise ProgramError(f"no stage of the graph makes the tables {missing}, which are its outputs.")
        return known.get(ids)


class Graph(Estimator):
    """A graph of stages, some of which have to learn; learning gives a :class:`GraphModel`.

    Made by :meth:`GraphBuilder.build_estimator`.
    """

    def __init__(self, graph: _StageGraph | None = None) -> None:
        self._graph = graph or _StageGraph()

    def fit(self, *inputs: Table) -> GraphModel:
        known = self._graph.given("Graph.fit", self._graph.fit_inputs, inputs)
        nodes = self._graph.run(known, fitting=True)
        graph = self._graph
        return GraphModel(
            _StageGraph(nodes, (), graph.inputs, graph.outputs, graph.model_data_in, graph.model_data_out)
        )

    def save_content(self, saving: Saving) -> None:
        self._graph.save(saving)

    def load_content(self, saved: Saved) -> None:
        self._graph = _StageGraph.load(saved)


class GraphModel(Model):
    """A graph of stages that run as one model. Made by :meth:`Graph.fit` or :meth:`GraphBuilder.build_model`.

    An estimator that is left in it is fitted whenever the graph runs.
    """

    def __init__(self, graph: _StageGraph | None = None) -> None:
        self._graph = graph or _StageGraph()
        self._model_data: list[Table] = []

    def transform(self, *inputs: Table) -> list[Table]:
        return self._graph.outcome(self._run(inputs), self._graph.outputs)

    def set_model_data(self, *inputs: Table) -> GraphModel:
        if len(inputs) != len(self._graph.model_data_in):
            raise ConfigurationError(
                f"this GraphModel takes model data of {len(self._graph.model_data_in)} tables, got {len(inputs)}."
            )
        self._model_data = list(inputs)
        return self

    def get_model_data(self) -> list[Table]:
        known = self._graph.given("GraphModel", self._graph.model_data_in, self._model_data)
        for node in self._graph.nodes:
            if node.model_data_out and isinstance(node.stage, Model):
                if node.model_data_in:
                    node.stage.set_model_data(*known.get(node.model_data_in))
                known.put(node.model_data_out, node.stage.get_model_data(), f"the model data of {node.stage!r}")
        return self._graph.outcome(known, self._graph.model_data_out)

    def _run(self, inputs: Sequence[Table]) -> _Tables:
        graph = self._graph
        known = graph.given("GraphModel.transform", graph.inputs, inputs)
        if graph.model_data_in:
            if not self._model_data:
                raise ProgramError("this GraphModel has no model data yet: call set_model_data() first.")
            known.put(graph.model_data_in, self._model_data, "the model data")
        graph.run(known, fitting=False)
        return known

    def save_content(self, saving: Saving) -> None:
        if self._model_data:
            raise ProgramError("a GraphModel whose model data was set cannot be saved: save its stages instead.")
        self._graph.save(saving)

    def load_content(self, saved: Saved) -> None:
        self._graph = _StageGraph.load(saved)


class GraphBuilder:
    """Puts a graph together: make ids for its inputs, add stages, and build an estimator, model or operator."""

    def __init__(self) -> None:
        self._nodes: list[_Node] = []
        self._next = 0
        self._max_outputs = 20

    def set_max_output_table_num(self, max_output_length: int) -> GraphBuilder:
        """How many tables a stage, or its model data, has at most: 20 unless set."""
        if not isinstance(max_output_length, int) or max_output_length < 1:
            raise ConfigurationError(f"max_output_length is a positive int, got {max_output_length!r}.")
        self._max_outputs = max_output_length
        return self

    def create_table_id(self) -> TableId:
        """An id for a table that the graph will be given."""
        self._next += 1
        return TableId(self._next - 1)

    def add_algo_operator(self, algo_op: AlgoOperator, *inputs: TableId) -> list[TableId]:
        """Add a stage that is ready to run.

        :return: The ids of its outputs; there are more of them than it has.
        """
        if not isinstance(algo_op, AlgoOperator):
            raise ConfigurationError(f"add_algo_operator takes an AlgoOperator, got {algo_op!r}. See add_estimator().")
        return self._add(_Node(algo_op, None, _checked_ids(inputs), self._outputs()))

    def add_estimator(
        self, estimator: Estimator, *inputs: TableId, model_inputs: Sequence[TableId] | None = None
    ) -> list[TableId]:
        """Add a stage that has to learn.

        :param inputs: What it learns from.
        :param model_inputs: What its model transforms, if that is something else.
        :return: The ids of the model's outputs; there are more of them than it has.
        """
        if not isinstance(estimator, Estimator):
            raise ConfigurationError(f"add_estimator takes an Estimator, got {estimator!r}. See add_algo_operator().")
        transformed = inputs if model_inputs is None else model_inputs
        return self._add(_Node(estimator, _checked_ids(inputs), _checked_ids(transformed), self._outputs()))

    def set_model_data_on_estimator(self, estimator: Estimator, *inputs: TableId) -> None:
        """Let the model of an estimator take over model data before it transforms."""
        self._node(estimator, Estimator).model_data_in = _checked_ids(inputs)

    def set_model_data_on_model(self, model: Model, *inputs: TableId) -> None:
        """Let a model take over model data before it transforms."""
        self._node(model, Model).model_data_in = _checked_ids(inputs)

    def get_model_data_from_estimator(self, estimator: Estimator) -> list[TableId]:
        """The ids of the model data of an estimator's model."""
        return self._model_data(self._node(estimator, Estimator))

    def get_model_data_from_model(self, model: Model) -> list[TableId]:
        """The ids of a model's data."""
        return self._model_data(self._node(model, Model))

    def build_estimator(
        self,
        inputs: Ids,
        outputs: Ids,
        input_model_data: Ids = (),
        output_model_data: Ids = (),
        *,
        model_inputs: Ids | None = None,
    ) -> Graph:
        """The graph as an estimator.

        :param inputs: What :meth:`Graph.fit` takes.
        :param outputs: What :meth:`GraphModel.transform` returns.
        :param input_model_data: What :meth:`GraphModel.set_model_data` takes.
        :param output_model_data: What :meth:`GraphModel.get_model_data` returns.
        :param model_inputs: What :meth:`GraphModel.transform` takes, if that is not what ``fit`` takes.
        """
        transformed = inputs if model_inputs is None else model_inputs
        return Graph(_StageGraph(self._nodes, inputs, transformed, outputs, input_model_data, output_model_data))

    def build_algo_operator(self, inputs: Ids, outputs: Ids) -> AlgoOperator:
        """The graph as an operator; estimators in it are fitted whenever it runs."""
        return self.build_model(inputs, outputs)

    def build_model(
        self, inputs: Ids, outputs: Ids, input_model_data: Ids = (), output_model_data: Ids = ()
    ) -> GraphModel:
        """The graph as a model; estimators in it are fitted whenever it runs."""
        return GraphModel(_StageGraph(self._nodes, (), inputs, outputs, input_model_data, output_model_data))

    def _outputs(self) -> list[TableId]:
        return [self.create_table_id() for _ in range(self._max_outputs)]

    def _add(self, node: _Node) -> list[TableId]:
        if any(each.stage is node.stage for each in self._nodes):
            raise ConfigurationError(f"{node.stage!r} is in the graph already. Make another one.")
        self._nodes.append(node)
        return list(node.outputs)

    def _node(self, stage: Stage, kind: type[Stage]) -> _Node:
        for node in self._nodes:
            if node.stage is stage and isinstance(stage, kind):
                return node
        raise ConfigurationError(f"{stage!r} has not been added to the graph as {kind.__name__}.")

    def _model_data(self, node: _Node) -> list[TableId]:
        node.model_data_out = node.model_data_out or self._outputs()
        return list(node.model_data_out)


def _checked_ids(ids: Ids) -> list[TableId]:
    for each in ids:
        if not isinstance(each, TableId):
            raise ConfigurationError(f"tables of a graph are given as TableId, got {each!r}. See create_table_id().")
    return list(ids)
