"""Random patterns and events, and what Flink's own CEP library finds in them: ``random.jsonl.gz``.

    pip download --no-deps apache-flink-libraries==2.3.0   # brings flink-dist and flink-cep as jars
    python tests/golden/cep/generate.py --jars <folder with flink-dist, flink-cep and flink-cep's tests jar>

The tests jar (``org.apache.flink:flink-cep:2.3.0:tests``) holds the event buffer in memory that Flink's own tests use.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LETTERS = "abcd"


def scenario(rng: random.Random) -> dict[str, Any]:
    """A pattern, what to do after a match, and events to look for it in."""
    names = iter("s" + str(number) for number in range(100))
    length = rng.choice([1, 2, 2, 3, 3, 4])
    stages = [_stage(rng, names, place, length, depth=0) for place in range(length)]
    if rng.random() < 0.5:
        rng.choice(stages)["within"] = rng.choice([2, 3, 5, 8])
    outer = [stage["name"] for stage in stages if "name" in stage]
    strategies = [["no_skip"]] * 4 + [["skip_to_next"], ["skip_past_last_event"]]
    if outer:
        strategies += [["skip_to_first", rng.choice(outer)], ["skip_to_last", rng.choice(outer)]]
    time = 0
    events = []
    for number in range(rng.randint(4, 10)):
        time += rng.choice([0, 1, 1, 1, 2])
        events.append([f"{rng.choice(LETTERS)}{number}", time])
    return {"pattern": stages, "skip": rng.choice(strategies), "events": events}


def _stage(rng: random.Random, names: Any, place: int, length: int, depth: int) -> dict[str, Any]:
    stage: dict[str, Any] = {}
    if place > 0:
        ways = ["next", "followed_by", "followed_by", "followed_by_any"]
        ways += ["not_followed_by", "not_next"] if rng.random() < 0.4 else []
        stage["how"] = rng.choice(ways)
    negative = stage.get("how", "").startswith("not")
    if not negative and depth < 2 and rng.random() < 0.18:
        inside = rng.choice([1, 2, 2, 3])
        stage["group"] = [_stage(rng, names, at, inside, depth + 1) for at in range(inside)]
    else:
        stage["name"] = next(names)
        if rng.random() < 0.93:
            stage["where"] = _where(rng, stage["name"])
    if not negative:
        _quantify(rng, stage)
        if "or_more" in stage and "group" in stage and all(map(_may_be_empty, stage["group"])):
            del stage["or_more"]  # to repeat nothing for ever is what Flink would do, for ever
            for setting in ("until", "settings", "times_window"):
                stage.pop(setting, None)
    if rng.random() < 0.06:
        stage["within_previous"] = rng.choice([1, 2, 3])
    return stage


def _may_be_empty(stage: dict[str, Any]) -> bool:
    optional = "optional" in stage.get("settings", []) or stage.get("times", [1])[0] == 0
    if optional or stage.get("how", "").startswith("not"):
        return True
    return "group" in stage and all(map(_may_be_empty, stage["group"]))


def _where(rng: random.Random, name: str) -> dict[str, Any]:
    where: dict[str, Any] = {"letters": rng.sample(LETTERS, rng.choice([1, 1, 1, 2]))}
    if rng.random() < 0.1:
        where["fewer_than"] = [rng.choice([name, "s0"]), rng.randint(1, 2)]
    return where


def _quantify(rng: random.Random, stage: dict[str, Any]) -> None:
    kind = rng.random()
    settings = []
    if kind < 0.25:
        stage["or_more"] = rng.choice([1, 1, 1, 2])
        if rng.random() < 0.25:
            stage["until"] = {"letters": [rng.choice(LETTERS)]}
    elif kind < 0.45:
        least = rng.choice([0, 1, 1, 2])
        stage["times"] = [least, max(1, least) + rng.choice([0, 0, 1, 2])]
    if kind < 0.45:
        settings += rng.choice([[], [], ["consecutive"], ["allow_combinations"], ["greedy"], ["consecutive", "greedy"]])
        if rng.random() < 0.1:
            stage["times_window"] = rng.choice([1, 2, 3])
    if rng.random() < 0.25 and stage.get("times", [1])[0] != 0:
        settings.append("optional")
    if settings:
        stage["settings"] = settings


def ask_flink(scenarios: list[dict[str, Any]], jars: Path) -> list[dict[str, Any]]:
    """What Flink finds."""
    class_path = ":".join(map(str, jars.glob("*.jar")))
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked"), Path(folder, "answered")
        asked.write_text("".join(json.dumps(each) + "\n" for each in scenarios))
        subprocess.run(["javac", "-cp", class_path, "-d", folder, str(HERE / "Oracle.java")], check=True)
        subprocess.run(["java", "-cp", f"{folder}:{class_path}", "Oracle", str(asked), str(answered)], check=True)
        return [json.loads(line) for line in answered.read_text().splitlines()]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jars", type=Path, required=True)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--to", type=Path, default=HERE / "random.jsonl.gz")
    settings = parser.parse_args()
    rng = random.Random(settings.seed)
    answers = ask_flink([scenario(rng) for _ in range(settings.count)], settings.jars)
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in answers)
    settings.to.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
