"""Where the records of a program come from."""

from __future__ import annotations

import copy
import glob
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from firesteel.dataset.plan import nodes
from firesteel.dataset.plan.optimizer import Step
from firesteel.errors import ProgramError
from firesteel.execution.dataset.task import Packed, run_task
from firesteel.state.file_systems import local_path

if TYPE_CHECKING:
    from firesteel.execution.dataset.translation import Translation


def collection(translation: Translation, step: Step) -> Any:
    """Records of the program, in order."""
    node = step.node
    assert isinstance(node, nodes.CollectionNode)
    return translation.context.parallelize(node.records, step.tasks)


def sequence(translation: Translation, step: Step) -> Any:
    """Whole numbers."""
    node = step.node
    assert isinstance(node, nodes.SequenceNode)
    return translation.context.range(node.first, node.last + 1, numSlices=step.tasks)


def text(translation: Translation, step: Step) -> Any:
    """The lines of files."""
    node = step.node
    assert isinstance(node, nodes.TextNode)
    _check_there(node)
    lines = translation.engine.lines(os.fspath(node.path), step.tasks, node.delimiter, node.skip_first)
    if node.parse is None:
        return lines
    settings = translation.settings(step)
    packed = Packed(node.parse, settings.info)

    def task(index: int, records: Iterator[str]) -> Iterator[Any]:
        return run_task(settings, index, None, packed.load(), records)

    return lines.mapPartitionsWithIndex(task)


def _check_there(node: nodes.TextNode) -> None:
    """A missing local file is said in one line, before Spark says it in fifty."""
    local = local_path(node.path)
    if local is not None and not glob.glob(local) and not os.path.exists(local):
        raise ProgramError(f"{node.path} is not there; it is read at {node.call_site}")


def input_format(translation: Translation, step: Step) -> Any:
    """The records of an input format: its splits are made here and read in tasks."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.InputFormatNode)
    splits = list(node.input_format.create_input_splits(step.tasks))
    packed = Packed(node.input_format, settings.info)

    def task(index: int, records: Iterator[Any]) -> Iterator[Any]:
        return run_task(settings, index, None, lambda splits: _read(packed.load(), splits), records)

    return translation.context.parallelize(splits, max(len(splits), 1)).mapPartitionsWithIndex(task)


def _read(input_format: Any, splits: Iterator[Any]) -> Iterator[Any]:
    for split in splits:
        opened = copy.copy(input_format)
        opened.open(split)
        try:
            while not opened.reached_end():
                yield opened.next_record()
        finally:
            opened.close()
