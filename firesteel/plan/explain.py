"""The job plan for people and tools: Flink's JSON form, and text."""

from __future__ import annotations

import json
from typing import Any

from firesteel.common.options import STATE_BACKEND
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.layout import PlannedChain, PlannedOperator


def execution_plan_json(plan: JobPlan) -> str:
    """The plan as Flink's ``getExecutionPlan`` gives it: one node per operator, with the edges that lead to it."""
    nodes = []
    for chain in plan.chains:
        for operator in chain.operators:
            node: dict[str, Any] = {
                "id": operator.id,
                "type": operator.description or operator.info.name,
                "pact": "Data Source" if operator.inputs == 0 else "Data Sink" if operator.is_sink else "Operator",
                "contents": operator.info.name,
                "parallelism": chain.parallelism,
                "max_parallelism": chain.max_parallelism,
                "uid": operator.info.uid,
                "chain": chain.id,
                "level": chain.level,
                "made_at": operator.info.call_site,
            }
            # No null, true or false: Python programs also read this with eval().
            node = {key: value for key, value in node.items() if value is not None}
            if operator.keyed:
                node["state_backend"] = plan.configuration.get(STATE_BACKEND)
            predecessors = _predecessors(plan, chain, operator)
            if predecessors:
                node["predecessors"] = predecessors
            nodes.append(node)
    return json.dumps({"name": plan.name, "nodes": sorted(nodes, key=lambda node: node["id"])}, indent=2)


def _predecessors(plan: JobPlan, chain: PlannedChain, operator: PlannedOperator) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"id": edge.operator, "ship_strategy": "FORWARD", "side": _side(0), "chained": 1}
        for edge in chain.chained_edges
        if edge.target == operator.id
    ]
    if operator is chain.operators[0]:
        found += [
            {"id": edge.operator, "ship_strategy": edge.kind, "side": _side(edge.input_index), "chained": 0}
            for edge in plan.edges
            if edge.target == chain.id
        ]
    return found


def _side(input_index: int) -> str:
    return "first" if input_index == 0 else "second"


def explain_text(plan: JobPlan) -> str:
    """The plan as text: levels (Spark stages), their chains (one pass each), the exchanges between them, the slots."""
    names = {operator.id: operator.info.name for chain in plan.chains for operator in chain.operators}
    mode = "BATCH" if plan.batch_mode else "STREAMING"
    backend = plan.configuration.get(STATE_BACKEND)
    state = "" if backend == "hashmap" else f", state in {backend}"
    lines = [f"{plan.name}: {plan.level_count} level(s), {plan.parallelism} slot(s), {mode}{state}"]
    for level in range(plan.level_count):
        lines.append(f"level {level}: {plan.width(level)} task(s)")
        for chain in plan.chains:
            if chain.level != level:
                continue
            for edge in plan.edges:
                if edge.target == chain.id:
                    tag = f" [{edge.tag.name}]" if edge.tag else ""
                    lines.append(f"    <= {edge.kind} from {names[edge.operator]}{tag}")
            lines.append(f"    {chain.name}  x{chain.parallelism}")
    lines.append("slots:")
    lines += [f"    {number}: {'; '.join(tasks)}" for number, tasks in enumerate(slot_table(plan), 1)]
    return "\n".join(lines)


def slot_table(plan: JobPlan) -> list[list[str]]:
    """What runs in each slot: slot ``i`` runs subtask ``i`` of every chain that has one."""
    return [
        [f"{chain.name} ({index + 1}/{chain.parallelism})" for chain in plan.chains if index < chain.parallelism]
        for index in range(plan.parallelism)
    ]
