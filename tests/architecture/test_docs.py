"""The written pages: links lead somewhere; what they name exists, and takes what they give it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomllib

from firesteel.common.options import OPTIONS
from firesteel.datastream import DataStream, KeyedStream, StreamExecutionEnvironment, WindowedStream
from tests.architecture import import_rules

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
OF_NOW = [page for page in PAGES if page.name not in ("CHANGELOG.md", "features.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
IMPORT = re.compile(r"^\s*(?:from firesteel[\w.]* import (?:\([^)]*\)|[^\n(]+)|import firesteel[\w.]*)", re.MULTILINE)
DOTTED = re.compile(r"`(firesteel(?:\.\w+)+)`")
CALL = re.compile(r"`(env|stream)\.([a-z_0-9]+)\b(\([^`]*\))?[^`(]*`")
METHOD = re.compile(r"`(\w+)\(([^`]*)\)`")
OWNERS = {"env": [StreamExecutionEnvironment], "stream": [DataStream, KeyedStream, WindowedStream]}


def ids(page: Path) -> str:
    return str(page.relative_to(ROOT))


def broken_links(page: Path, text: str) -> list[str]:
    """Relative links of a page whose file does not exist."""
    targets = [link.partition("#")[0] for link in LINK.findall(text) if not re.match(r"[a-z]+:", link)]
    return [target for target in targets if target and not (page.parent / target).exists()]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").touch()
    text = "[a](there.md#part) [b](gone.md) [c](https://example.org) [d](#here)"
    assert broken_links(tmp_path / "page.md", text) == ["gone.md"]


def exists(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one. Options are dotted names too."""
    if dotted in OPTIONS or any(key.startswith(f"{dotted}.") for key in OPTIONS):
        return True
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


def untrue_names(text: str) -> Iterator[str]:
    """Imports and dotted names of a page that are not there."""
    for statement in IMPORT.findall(text):
        for node in ast.parse(statement.strip()).body:
            names = [alias.name for alias in node.names]
            module = getattr(node, "module", None)
            yield from (name for name in (f"{module}.{each}" if module else each for each in names) if not exists(name))
    yield from (name for name in DOTTED.findall(text) if not exists(name))


@pytest.mark.parametrize("page", OF_NOW, ids=ids)
def test_names_and_imports_exist(page: Path) -> None:
    assert list(untrue_names(page.read_text(encoding="utf-8"))) == []


def test_a_name_that_is_not_there_is_found() -> None:
    text = "from firesteel.common import Types, Tpyes\n`firesteel.datastream.nowhere` `firesteel.progress`"
    assert list(untrue_names(text)) == ["firesteel.common.Tpyes", "firesteel.datastream.nowhere"]


def misfit(owner: type, method: str, arguments: str | None) -> str | None:
    """What is wrong with a call that a page shows; None if nothing is, or if it is shortened."""
    function = getattr(owner, method, None)
    if function is None:
        return f"{owner.__name__} has no {method}"
    try:
        call = ast.parse(f"f{arguments or '()'}", mode="eval").body
    except SyntaxError:
        return None  # no code, but a form
    while isinstance(call, ast.Call) and not isinstance(call.func, ast.Name):  # the first call of several in a row
        call = getattr(call.func, "value", None)
    if not isinstance(call, ast.Call):
        return None
    known = inspect.signature(function).parameters
    kinds = {parameter.kind for parameter in known.values()}
    words = [each.arg for each in call.keywords if each.arg is not None]
    if inspect.Parameter.VAR_KEYWORD not in kinds and (wrong := [word for word in words if word not in known]):
        return f"{method} has no parameter {wrong[0]}"
    if inspect.Parameter.VAR_POSITIONAL not in kinds and len(call.args) > len(known) - 1:
        return f"{method} takes {len(known) - 1} arguments"
    return None


def wrong_calls(text: str) -> list[str]:
    """Methods of environments and streams, in code between words, that are not there or take something else."""
    wrong = []
    for owner, method, arguments in CALL.findall(text):
        problems = [misfit(each, method, arguments) for each in OWNERS[owner]]
        wrong += [problem for problem in problems[:1] if all(problems)]
    for method, arguments in METHOD.findall(text):
        if hasattr(StreamExecutionEnvironment, method) and method.startswith("from_"):
            wrong += _unknown_words(method, arguments)
    return wrong


def _unknown_words(method: str, arguments: str) -> list[str]:
    """In a list of parameters, as in ``from_source(source, watermark_strategy, name)``, words that are none."""
    parameters = inspect.signature(getattr(StreamExecutionEnvironment, method)).parameters
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters.values()):
        return []
    known = [*parameters][1:]
    words = [word for word in arguments.split(", ") if re.fullmatch(r"[a-z_]+", word)]
    return [f"{method}: {word}" for word in words if word not in known]


@pytest.mark.parametrize("page", OF_NOW, ids=ids)
def test_calls_fit(page: Path) -> None:
    assert wrong_calls(page.read_text(encoding="utf-8")) == []


def test_a_call_that_does_not_fit_is_found() -> None:
    text = "`env.execute()` `env.run()` `stream.map(f, type=1)` `stream.window(w)` `env.from_sequence(1, 2, 3)` `env.x`"
    assert wrong_calls(text) == [
        "StreamExecutionEnvironment has no run",
        "map has no parameter type",
        "from_sequence takes 2 arguments",
        "StreamExecutionEnvironment has no x",
    ]
    assert wrong_calls("`from_data_generator(generator_function, count, speed)`") == ["from_data_generator: speed"]


def test_contributing_says_how_long_lines_are_and_which_rooms_there_are() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"Lines up to {settings['tool']['ruff']['line-length']} characters" in text
    rooms = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.rglob("test_*.py"))}
    assert set(re.findall(r"^\| `tests/(\w+)` \|", text, re.MULTILINE)) == rooms


def test_the_architecture_page_has_all_layers_and_dependencies() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = text.partition("## Layers")[2].partition("```\n")[2].partition("```")[0]
    here = {module.layer for module in import_rules.sources() if module.layer and module.layer != "__main__"}
    assert here <= set(re.findall(r"\w+", drawn))
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = text.partition("## Dependencies and why")[2]
    names = [re.match(r"[\w-]+", each).group().lower() for each in settings["dependencies"]]
    assert [name for name in names if not re.search(rf"^\| {name}\b", table, re.MULTILINE | re.IGNORECASE)] == []
