"""From the program's graph to the job plan. The steps are in ``rewrites``, one in each file."""

from __future__ import annotations

from firesteel.common import Configuration
from firesteel.errors import ProgramError
from firesteel.plan.graph import StreamGraph
from firesteel.plan.job_plan import JobPlan
from firesteel.plan.rewrites.chains import plan_chains
from firesteel.plan.rewrites.coordinators import plan_coordinators
from firesteel.plan.rewrites.resolved import resolve
from firesteel.plan.rewrites.settings import CompileSettings

__all__ = ["CompileSettings", "compile_graph"]


def compile_graph(graph: StreamGraph, configuration: Configuration, settings: CompileSettings) -> JobPlan:
    """Compile a program. Raises :class:`ProgramError` if it cannot be run as written."""
    if not graph.sinks():
        raise ProgramError(
            "the program has no sink, so it would compute nothing that anybody sees. Add one: print(), add_sink(...), "
            "sink_to(...), or use execute_and_collect()"
        )
    resolved = resolve(graph, settings)
    return JobPlan(
        name=settings.job_name,
        chains=plan_chains(resolved),
        coordinators=plan_coordinators(resolved, configuration, settings.batch_mode),
        configuration=configuration,
        batch_mode=settings.batch_mode,
        job_parameters=settings.job_parameters,
        serializers=settings.serializers,
        cached_files=settings.cached_files,
        declared_tags={resolved.uids[node.id]: frozenset(node.declared_tags) for node in resolved.nodes},
    )
