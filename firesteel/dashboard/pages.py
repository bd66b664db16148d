"""The pages: what is told of jobs, as HTML. Each is a function of what is known, without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from firesteel.dashboard.charts import charts
from firesteel.dashboard.graph import event_time_of, figures_of, graph, is_source
from firesteel.dashboard.text import Html, amount, clock, el, event_time, lasting, size
from firesteel.dashboard.watermarks import explain, held_back
from firesteel.events import CheckpointCompleted, CheckpointFailed, CheckpointTriggered, ExceptionRaised, JobView

__all__ = [
    "TABS",
    "checkpoints",
    "configuration",
    "confirm",
    "exceptions",
    "jobs",
    "logs",
    "overview",
    "page",
    "watermarks",
]

TABS = {
    "": "Overview",
    "/checkpoints": "Checkpoints",
    "/exceptions": "Exceptions",
    "/watermarks": "Watermarks",
    "/configuration": "Configuration",
}


def _state(name: str) -> Html:
    return el("span", name, class_=f"state {name}")


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> Html:
    def cells(tag: str, row: Sequence[object]) -> list[Html]:
        return [el(tag, each, class_="number" if place in numbers else None) for place, each in enumerate(row)]

    head = el("thead", el("tr", *cells("th", heads)))
    body = el("tbody", *(el("tr", *cells("td", row)) for row in rows))
    return el("div", el("table", head, body), class_="scroll card")


def _facts(facts: dict[str, object]) -> Html:
    return el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in facts.items()), class_="facts card")


def page(
    title: str,
    body: Html,
    base: str,
    view: JobView | None = None,
    tab: str = "",
    refresh: str | None = None,
    steers: bool = False,
) -> Html:
    """A whole page. What is polled is the body; links and buttons stay where they are, and keep the focus.

    :param base: Where the dashboard is, without a slash at its end.
    :param refresh: The path to load the body from again, every two seconds.
    :param steers: The job can be cancelled and saved.
    """
    top = [el("a", Html("<b>Fire</b>steel"), href=f"{base}/", class_="brand")]
    under = [el("a", "Jobs", href=f"{base}/", aria_current="page" if view is None and not tab else None)]
    under.append(el("a", "Log", href=f"{base}/log", aria_current="page" if tab == "log" else None))
    if view is not None:
        job = f"{base}/jobs/{view.job.job_id}"
        top.append(el("h1", view.job.name))
        under += [
            el("a", name, href=f"{job}{path}", aria_current="page" if path == tab else None)
            for path, name in TABS.items()
        ]
        if steers and not view.is_over:
            top.append(_actions(job))
    polled = {"hx_get": refresh, "hx_trigger": "every 2s", "hx_select": "#main", "hx_swap": "outerHTML"}
    attributes = polled if refresh is not None else {}
    head = el(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="htmx-config" content=\'{"includeIndicatorStyles":false,"allowEval":false}\'>'),
        el("title", f"{title} \N{MIDDLE DOT} Firesteel"),
        Html(f'<link rel="icon" href="{base}/static/icon.svg"><link rel="stylesheet" href="{base}/static/style.css">'),
        el("script", src=f"{base}/static/htmx.min.js", defer="defer"),
    )
    shell = el(
        "body",
        el("a", "Skip to the content", href="#main", class_="skip"),
        el("header", el("div", *top, class_="top"), el("nav", *under, aria_label="Pages")),
        el("main", body, id="main", **attributes),
    )
    return Html(f"<!doctype html>\n{el('html', head, shell, lang='en')}")


def _actions(job: str) -> Html:
    links = {"Checkpoint": "checkpoint", "Savepoint": "savepoint", "Cancel": "cancel"}
    return el(
        "div",
        *(
            el(
                "a",
                f"{name}\N{HORIZONTAL ELLIPSIS}",
                href=f"{job}/{path}",
                class_=f"button {'danger' * (path == 'cancel')}",
            )
            for name, path in links.items()
        ),
        class_="actions",
    )


def jobs(views: Sequence[JobView], base: str) -> Html:
    """All jobs."""
    if not views:
        return el("p", "There are no jobs yet.", class_="card")
    rows = []
    for view in views:
        counts = view.history.checkpoint_counts
        rate = sum(figures_of(view, each).records_in for each in view.job.vertices if is_source(each))
        rows.append(
            (
                el("a", view.job.name, href=f"{base}/jobs/{view.job.job_id}"),
                _state(view.state),
                clock(view.start),
                lasting(view.duration),
                "" if view.is_over else f"{amount(rate)}/s",
                view.attempt,
                f"{counts['completed']}" + (f", {counts['failed']} failed" if counts["failed"] else ""),
            )
        )
    heads = ("Job", "State", "Began (UTC)", "Duration", "Reads", "Restarts", "Checkpoints")
    return el("div", el("h2", "Jobs"), _table(heads, rows, (4, 5)))


def overview(view: JobView) -> Html:
    """One job: its graph and its figures."""
    latest = view.latest
    facts: dict[str, object] = {
        "State": _state(view.state),
        "Began (UTC)": clock(view.start),
        "Duration": lasting(view.duration),
        "Restarts": view.attempt,
        "Epochs": 0 if latest is None else latest.epoch,
        "Event time": event_time(event_time_of(view)),
        "Checkpoints": view.history.checkpoint_counts["completed"],
    }
    parts = [_facts(facts)]
    if view.history.exceptions:
        parts.append(_newest_failure(view.history.exceptions[-1]))
    rows = []
    for vertex in view.job.vertices:
        figures = figures_of(view, vertex)
        rows.append(
            (
                vertex.name,
                vertex.parallelism,
                f"{amount(figures.records_in)}/s",
                f"{amount(figures.records_out)}/s",
                f"{figures.busy:.0%}",
                f"{figures.waiting:.0%}",
                event_time(figures.watermark),
                amount(figures.state_entries),
            )
        )
    heads = ("Task", "Subtasks", "In or read", "Out", "Busy", "Back pressure", "Event time (UTC)", "State entries")
    parts += [
        el("div", graph(view), class_="card"),
        charts(view),
        el("h2", "Tasks"),
        _table(heads, rows, (1, 2, 3, 4, 5, 7)),
    ]
    return el("div", *parts)


def _newest_failure(raised: ExceptionRaised) -> Html:
    where = "" if raised.operator is None else f" in {raised.operator!r}"
    text = f"{raised.exception}: {raised.message.partition(chr(10))[0]}{where}, {clock(raised.time)}"
    return el("p", el("strong", "Newest failure: "), text, class_="card notice")


def checkpoints(view: JobView) -> Html:
    """Checkpoints and savepoints."""
    counts = view.history.checkpoint_counts
    facts: dict[str, object] = {
        "Completed": counts["completed"],
        "Failed": counts["failed"],
        "Under way": counts["in_progress"],
        "Restored": counts["restored"],
        "Interval": "none" if view.job.checkpoint_interval is None else lasting(view.job.checkpoint_interval),
    }
    newest_first = [*view.history.checkpoints_under_way[::-1], *view.history.checkpoints[::-1]]
    rows = [_checkpoint(each) for each in newest_first]
    heads = ("Number", "Kind", "State", "When (UTC)", "Took", "Size", "Where")
    body = _table(heads, rows, (0, 4, 5)) if rows else el("p", "There are none yet.", class_="card")
    return el("div", _facts(facts), body)


def _checkpoint(each: CheckpointTriggered | CheckpointCompleted | CheckpointFailed) -> Sequence[object]:
    kind = "savepoint" if each.savepoint else "checkpoint"
    if isinstance(each, CheckpointTriggered):
        return each.checkpoint_id, kind, _state("IN_PROGRESS"), clock(each.time), "", "", ""
    took = lasting(each.duration_ms)
    if isinstance(each, CheckpointFailed):
        return each.checkpoint_id, kind, _state("FAILED"), clock(each.time), took, "", each.reason
    kind += ", full" if each.full and not each.savepoint else ""
    return each.checkpoint_id, kind, _state("COMPLETED"), clock(each.time), took, size(each.state_bytes), each.path


def exceptions(view: JobView) -> Html:
    """What has failed, newest first, each with the user's own traceback."""
    if not view.history.exceptions:
        return el("p", "Nothing has failed.", class_="card")
    return el("div", *(_exception(each) for each in reversed(view.history.exceptions)))


def _exception(raised: ExceptionRaised) -> Html:
    where = [f"operator {raised.operator!r}"] if raised.operator is not None else []
    where += [] if raised.subtask is None else [f"subtask {raised.subtask}"]
    where += [] if raised.host is None else [f"process {raised.pid} on {raised.host}"]
    ends = "The job ended by it." if raised.fatal else "The job was restarted."
    record = [] if raised.record is None else [el("p", "Record: ", el("code", raised.record))]
    heading = el("h2", f"{raised.exception}: {raised.message.partition(chr(10))[0]}")
    told = el("p", f"{clock(raised.time)} UTC. {', '.join(where) or 'In the driver'}. {ends}", class_="quiet")
    return el("section", heading, told, *record, el("pre", raised.traceback or raised.message), class_="card")


def watermarks(view: JobView) -> Html:
    """Where event time stands, and who holds it back."""
    held = held_back(view)
    if not held:
        return el("p", "No epoch has ended yet.", class_="card")
    rows = [(each.vertex.name, event_time(each.watermark), explain(each, view.until)) for each in held]
    return el("div", el("h2", "Why has this window not fired?"), _table(("Task", "Event time (UTC)", "Because"), rows))


def configuration(view: JobView) -> Html:
    """The job's settings, without secrets."""
    rows = [(key, value) for key, value in sorted(view.job.configuration.items())]
    facts: dict[str, object] = {
        "Job id": view.job.job_id,
        "Driver": f"process {view.job.pid} on {view.job.host}",
        "Firesteel": view.job.version,
        "State backend": view.job.state_backend,
        "Checkpoints": view.job.checkpoint_directory or "nowhere",
    }
    body = _table(("Setting", "Value"), rows) if rows else el("p", "Nothing is set.", class_="card")
    return el("div", _facts(facts), body)


def logs(text: str | None) -> Html:
    """What the driver has logged lately."""
    if text is None:
        return el("p", "This server is no driver's, and has no log of one.", class_="card")
    return el("div", el("h2", "What the driver has logged lately"), el("pre", text or "Nothing yet."))


_QUESTIONS = {
    "cancel": ("Cancel this job?", "It ends after its present epoch. Its checkpoints stay or go as its settings say."),
    "savepoint": ("Take a savepoint?", "The job goes on. Without a directory, that of the settings is used."),
    "checkpoint": ("Take a checkpoint now?", "The job goes on, and takes its next one when it is due."),
}


def confirm(view: JobView, what: str, path: str, back: str, problem: str | None = None) -> Html:
    """The question before something is done."""
    question, meaning = _QUESTIONS[what]
    field = Html("")
    if what == "savepoint":
        box = el("input", type="text", name="directory", id="directory", autocomplete="off")
        field = el("div", el("label", "Directory", for_="directory"), box)
    told = Html("") if problem is None else el("p", problem, class_="card notice", role="alert")
    button = el(
        "button", question.rstrip("?"), class_="button danger" if what == "cancel" else "button", autofocus="autofocus"
    )
    form = el("form", field, el("p", button, " ", el("a", "No, go back", href=back)), method="post", action=path)
    return el(
        "div", told, el("section", el("h2", f"{question} {view.job.name}"), el("p", meaning), form, class_="card")
    )
