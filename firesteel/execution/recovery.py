"""What a job may go on from: stored state that is whole, and that fits the program."""

from __future__ import annotations

from firesteel.errors import CheckpointError, StateMigrationError
from firesteel.execution.results import SubtaskDone
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.coordination.sinks import SINKS
from firesteel.state.store import CheckpointStore, Manifest


def readable_checkpoints(store: CheckpointStore, ids: list[int]) -> tuple[list[Manifest], list[CheckpointError]]:
    """The checkpoints of a directory, oldest first, and what is wrong with those that cannot be read."""
    manifests, problems = [], []
    for checkpoint_id in ids:
        try:
            manifests.append(store.read_checkpoint(checkpoint_id))
        except CheckpointError as error:
            problems.append(error)
    return manifests, problems


def refuse_lost(store: CheckpointStore, ids: list[int]) -> None:
    """Raise :class:`CheckpointError` if the last checkpoint was completed and its manifest is gone.

    Output that it has made visible would come again if the job went on from an older one.
    """
    latest = store.latest_noted()
    if latest > max(ids, default=0):
        raise CheckpointError(
            f"checkpoint {latest} was completed, but its manifest {store.directory}/chk-{latest}/_metadata is missing. "
            "Put it back. To go on from another checkpoint or savepoint, set execution.state-recovery.path; to begin "
            "anew, set another execution.checkpointing.dir"
        )


def refuse_incomplete(manifest: Manifest) -> None:
    """Raise :class:`CheckpointError` if state files are missing."""
    store = CheckpointStore(manifest.directory)
    missing = [name for name in sorted(manifest.all_files()) if not store.has_state(name)]
    if missing:
        raise CheckpointError(
            f"the {manifest.kind} {manifest.checkpoint_id} in {manifest.directory} is not whole: "
            f"{len(missing)} of its {len(manifest.all_files())} state files are missing, among them {missing[0]}. "
            "Go on from another one (execution.state-recovery.path), or begin anew in another directory"
        )


def refuse_misfit(plan: JobPlan, manifest: Manifest) -> None:
    """Raise :class:`StateMigrationError` if there is state, or a position in a source, that nothing claims.

    Output that is still to be committed is no state: its sink may be gone.
    """
    operators = {operator.info.uid for chain in plan.chains for operator in chain.operators}
    stored = {uid for uid, entry in manifest.operators.items() if entry.stateful}
    coordinated = [set(states) for kind, states in manifest.driver.items() if kind != SINKS]
    unclaimed = stored.union(*coordinated) - operators
    if unclaimed:
        fresh = sorted(operators - set(manifest.operators))
        raise StateMigrationError(
            f"the {manifest.kind} {manifest.checkpoint_id} in {manifest.directory} (of job {manifest.job_name!r}) "
            f"does not fit this program.\n  state without an operator: {', '.join(sorted(unclaimed))}\n"
            f"  operators without state:   {', '.join(fresh) or 'none'}\n"
            "Give operators the uids they had (uid('...')), start with another checkpoint directory, or allow the "
            "state to be dropped (execution.state-recovery.ignore-unclaimed-state: true)"
        )


def unsafe_end(plan: JobPlan, results: list[SubtaskDone]) -> str | None:
    """Why no checkpoint can be taken after an epoch: union list state of which a part has ended.

    On recovery each subtask wants the elements of all others; those of subtasks that have ended would be missing.
    """
    with_union = {uid for result in results for uid in result.report.union_state}
    for chain in plan.chains if with_union else ():
        names = [operator.info.name for operator in chain.operators if operator.info.uid in with_union]
        mine = [result.report for result in results if result.level == chain.level and result.index < chain.parallelism]
        ended = sum(chain.id in report.ended_chains for report in mine)
        if names and 0 < ended < len(mine):
            return (
                f"operator {names[0]!r} has union list state, and {ended} of its {len(mine)} subtasks have ended. "
                "Checkpoints go on when all have"
            )
    return None
