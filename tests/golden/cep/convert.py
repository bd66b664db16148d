"""What Flink's own tests of its CEP library do, as scenarios: ``flink_tests.jsonl.gz``.

    python tests/golden/cep/convert.py recorded.jsonl

The recording is made by running the tests of Flink 2.3.0 (``org.apache.flink:flink-cep:2.3.0:tests``, package
``org.apache.flink.cep.nfa``, all of which passed) with an ``NFA`` that notes, for each test: the pattern, what its
conditions answered to which event, each step of time, each event, and what came out. Events are numbered here; nothing
else is changed.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HOW = {
    "STRICT": "next",
    "SKIP_TILL_NEXT": "followed_by",
    "SKIP_TILL_ANY": "followed_by_any",
    "NOT_FOLLOW": "not_followed_by",
    "NOT_NEXT": "not_next",
}


class Conversion:
    """One recorded test."""

    def __init__(self, recorded: dict[str, Any]) -> None:
        self._recorded = recorded
        self._labels: dict[str, str] = {}

    def label(self, event: str) -> str:
        """A short name for an event, the same for equal events."""
        return self._labels.setdefault(event, f"e{len(self._labels)}")

    def scenario(self) -> dict[str, Any]:
        """The test as a scenario."""
        recorded = self._recorded
        events, steps, error = self._steps(recorded["steps"])
        scenario = {
            "test": recorded["test"],
            "pattern": self._stages(recorded["pattern"]),
            "skip": _skip(recorded["skip"]),
            "timeouts": recorded["timeouts"],
            "events": events,
            "steps": steps,
        }
        return scenario if error is None else {**scenario, "error": error}

    def _steps(self, recorded: list[dict[str, Any]]) -> tuple[list[Any], list[Any], str | None]:
        events: list[Any] = []
        steps: list[Any] = []
        waiting: dict[str, Any] | None = None
        for step in recorded:
            if "event" not in step:
                if waiting is not None:
                    self._add(events, steps, None, waiting, {})
                waiting = step
            elif "error" in step:
                events.append([self.label(step["event"]), step["time"]])
                return events, steps, step["error"]
            else:
                if waiting is not None and waiting["time"] != step["time"]:
                    self._add(events, steps, None, waiting, {})
                    waiting = None
                self._add(events, steps, self.label(step["event"]), waiting, step)
                waiting = None
        if waiting is not None:
            self._add(events, steps, None, waiting, {})
        return events, steps, None

    def _add(self, events: list[Any], steps: list[Any], label: Any, time: dict[str, Any] | None, event: Any) -> None:
        at = (time or event)["time"]
        events.append([label, at] if time is not None else [label, at, False])
        timeouts = [[self._match(match), when] for match, when in (time or {}).get("timeouts", [])]
        by_time = [self._match(match) for match in (time or {}).get("matches", [])]
        steps.append([by_time, timeouts, [self._match(match) for match in event.get("matches", [])]])

    def _match(self, match: dict[str, list[str]]) -> dict[str, list[str]]:
        return {stage: [self.label(event) for event in events] for stage, events in match.items()}

    def _stages(self, stages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        converted = []
        for number, stage in enumerate(stages):
            new: dict[str, Any] = {"name": stage["name"]}
            if "group" in stage:
                new = {"group": self._stages(stage["group"])}
            if number > 0:
                new["how"] = HOW[stage["contiguity"]]
            new.update(self._quantifier(stage))
            for key in ("where", "until"):
                if key in stage:
                    new[key] = self._condition(self._recorded["conditions"][str(stage[key])])
            for key in ("within", "within_previous"):
                if stage[key] is not None:
                    new[key] = stage[key]
            converted.append(new)
        return converted

    @staticmethod
    def _quantifier(stage: dict[str, Any]) -> dict[str, Any]:
        new: dict[str, Any] = {}
        if stage["repetition"] == "LOOPING":
            new["or_more"] = stage["from"]
        elif stage["repetition"] == "TIMES":
            new["times"] = [stage["from"], stage["to"]]
        if stage.get("times_window") is not None:
            new["times_window"] = stage["times_window"]
        inner = {"STRICT": ["consecutive"], "SKIP_TILL_ANY": ["allow_combinations"]}.get(stage["inner"], [])
        settings = inner + [name for name in ("greedy", "optional") if stage[name]]
        return {**new, "settings": settings} if settings else new

    def _condition(self, answers: list[Any]) -> dict[str, Any]:
        if not any(asked["asked"] for asked, _ in answers):
            return {"accepts": [self.label(asked["event"]) for asked, answer in answers if answer]}
        return {"answers": [[self.label(asked["event"]), self._match(asked["asked"]), said] for asked, said in answers]}


def _skip(text: str | None) -> list[str]:
    if text is None or text.startswith("NoSkip"):
        return ["no_skip"]
    if text.startswith("SkipPastLast"):
        return ["skip_past_last_event"]
    if text.startswith("SkipToNext"):
        return ["skip_to_next"]
    kind = "skip_to_first" if text.startswith("SkipToFirst") else "skip_to_last"
    return [kind, text.split("'")[1], *(["throw"] if text.endswith("!") else [])]


def main() -> None:
    """Write the file."""
    lines = Path(sys.argv[1]).read_text().splitlines()
    text = "".join(json.dumps(Conversion(json.loads(line)).scenario(), separators=(",", ":")) + "\n" for line in lines)
    (HERE / "flink_tests.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
