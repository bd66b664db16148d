"""``firesteel explain``: the plan in four forms, and nothing is run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.cli.conftest import Firesteel, WriteProgram

SVG = "{http://www.w3.org/2000/svg}"
JOB = """
import sys
from firesteel.common import Types
from firesteel.datastream import OutputTag, StreamExecutionEnvironment
from firesteel.datastream.functions import ProcessFunction

LATE = OutputTag("late", Types.INT())

class Split(ProcessFunction):
    def process_element(self, value, ctx):
        raise AssertionError("nothing is to be run")

print("starting", *sys.argv[1:])
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
numbers = env.from_collection([1, 2, 3]).map(lambda n: n).name("parse")
split = numbers.rebalance().process(Split()).name("split & <sort>")
split.get_side_output(LATE).print()
split.key_by(lambda n: n).map(lambda n: n).name("count").union(numbers).rebalance().print()
try:
    env.execute("a plan")
except Exception:
    print("not to be caught")
print("not to be reached")
"""


@pytest.fixture
def job(program: WriteProgram) -> str:
    return program(JOB)


def test_text_shows_levels_chains_and_shuffles(firesteel: Firesteel, job: str) -> None:
    result = firesteel("explain", job, "an argument")
    assert result.code == 0
    assert result.out.startswith("a plan: ")
    assert "split & <sort> -> Sink: Print to Std. Out  x2" in result.out
    assert "<= HASH from split & <sort>" in result.out


def test_the_program_stops_at_its_first_job_and_its_prints_go_to_standard_error(firesteel: Firesteel, job: str) -> None:
    result = firesteel("explain", job, "an argument")
    assert result.err == "starting an argument\n"
    assert "starting" not in result.out


def test_json_has_every_operator_with_its_chain_and_level(firesteel: Firesteel, job: str) -> None:
    nodes = json.loads(firesteel("explain", "--format", "json", job).out)["nodes"]
    by_name = {node["contents"]: node for node in nodes}
    assert by_name["count"]["level"] > by_name["split & <sort>"]["level"] > by_name["parse"]["level"]
    assert by_name["count"]["predecessors"][0]["ship_strategy"] == "HASH"


def test_settings_change_the_plan(firesteel: Firesteel, program: WriteProgram) -> None:
    path = program(JOB.replace("env.set_parallelism(2)\n", ""))
    assert "x7" in firesteel("explain", "-p", "7", path).out


def test_svg_shows_operators_levels_and_edges(firesteel: Firesteel, job: str) -> None:
    svg = firesteel("explain", job, "-f", "svg").out
    root = ElementTree.fromstring(svg)
    texts = ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]
    for expected in ("a plan", "parse", "split & <sort>", "count", "HASH", "REBALANCE", "level 0: 1 task(s)"):
        assert expected in texts
    tips = ["".join(node.itertext()) for node in root.iter(f"{SVG}title")]
    assert any(re.search(r"made at .*job\.py:\d+", tip) for tip in tips)
    arrows = [node for node in root.iter(f"{SVG}path") if node.get("marker-end")]
    plan = json.loads(firesteel("explain", "--format", "json", job).out)
    assert len(arrows) == sum(len(node.get("predecessors", ())) for node in plan["nodes"])


def test_no_box_lies_on_another_and_all_are_inside_the_picture(firesteel: Firesteel, job: str) -> None:
    root = ElementTree.fromstring(firesteel("explain", job, "-f", "svg").out)
    boxes = [
        tuple(float(node.attrib[name]) for name in ("x", "y", "width", "height"))
        for node in root.iter(f"{SVG}rect")
        if node.get("class") == "chain"
    ]
    assert len(boxes) >= 4
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for number, (x, y, w, h) in enumerate(boxes):
        assert x >= 0 and x + w <= width and y >= 0 and y + h <= height
        for x2, y2, w2, h2 in boxes[:number]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_the_form_follows_from_the_name_of_the_file(firesteel: Firesteel, job: str, tmp_path: Path) -> None:
    for suffix, start in (("html", "<!DOCTYPE html>"), ("svg", "<svg"), ("json", "{"), ("txt", "a plan:")):
        target = tmp_path / f"plan.{suffix}"
        assert firesteel("explain", job, "-o", str(target)).out == ""
        assert target.read_text(encoding="utf-8").startswith(start)


def test_the_page_needs_nothing_from_outside(firesteel: Firesteel, job: str) -> None:
    page = firesteel("explain", "--format", "html", job).out
    assert "split &amp; &lt;sort&gt;" in page
    assert "<sort>" not in page
    assert re.findall(r"(?:src|href)=", page) == []
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}


def test_options_behind_two_dashes_are_the_programs(firesteel: Firesteel, job: str, tmp_path: Path) -> None:
    result = firesteel("explain", job, "-f", "text", "--", "-o", str(tmp_path / "x"))
    assert result.err == f"starting -o {tmp_path / 'x'}\n"
    assert not (tmp_path / "x").exists()


def test_a_program_without_a_job(firesteel: Firesteel, program: WriteProgram) -> None:
    result = firesteel("explain", program("x = 1"))
    assert result.code == 1
    assert "without running a job" in result.err


def test_a_file_that_cannot_be_written(firesteel: Firesteel, job: str) -> None:
    result = firesteel("explain", job, "-o", "/not/there/plan.svg")
    assert result.code == 2
    assert "cannot be written" in result.err


def test_programs_for_pyflink_are_explained_too(firesteel: Firesteel, program: WriteProgram) -> None:
    import firesteel.pyflink as shim

    try:
        result = firesteel("explain", "--pyflink", program(JOB.replace("from firesteel.", "from pyflink.")))
    finally:
        shim.uninstall()
    assert result.out.startswith("a plan: ")
