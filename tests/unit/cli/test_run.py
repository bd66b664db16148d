"""``firesteel run``: the program gets its settings and arguments, errors come without noise, exit codes hold."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from firesteel.cli.main import main
from firesteel.cli.settings import properties_text
from firesteel.common import Configuration, FiresteelWarning
from firesteel.common.config_file import parse_config_text
from firesteel.errors import ProgramError
from firesteel.rest import RestServer, server
from tests.unit.cli.conftest import Firesteel, WriteProgram

SHOW_SETTINGS = """
import sys
from firesteel.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
for key, value in sorted(env.get_configuration().to_dict().items()):
    print(f"{key}={value}")
print(sys.argv[1:], __name__)
"""
COUNT = """
from firesteel.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2]).map(lambda n: n * 10).print()
env.execute("tens")
"""


def test_a_program_runs(firesteel: Firesteel, program: WriteProgram) -> None:
    assert firesteel("run", "--in-process", "-p", "1", program(COUNT)).out == "10\n20\n"


def test_options_reach_the_environment_of_the_program(firesteel: Firesteel, program: WriteProgram) -> None:
    result = firesteel(
        *("run", "--master", "local[3]", "--parallelism", "5", "--name", "it's # a name", "--from-savepoint", "/s/p"),
        *("--allow-non-restored-state", "--conf", "execution.checkpointing.interval=10 s", "-c", "spark.ui.port=4040"),
        *(program(SHOW_SETTINGS), "--parallelism", "7", "x"),
    )
    assert result.out.splitlines() == [
        "execution.checkpointing.interval=10 s",
        "execution.state-recovery.ignore-unclaimed-state=true",
        "execution.state-recovery.path=/s/p",
        "execution.target=spark",
        "firesteel.master=local[3]",
        "parallelism.default=5",
        "pipeline.name=it's # a name",
        "spark.ui.port=4040",
        "['--parallelism', '7', 'x'] __main__",
    ]


def test_options_come_before_the_file_and_the_file_before_the_environment(
    firesteel: Firesteel, program: WriteProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text("state.backend: rocksdb\nparallelism.default: 3\n")
    monkeypatch.setenv("FIRESTEEL_PROPERTIES", "parallelism.default: 2\npipeline.max-parallelism: 64")
    result = firesteel(
        "run", "--conf-file", str(tmp_path / "config.yaml"), "-c", "parallelism.default=4", program(SHOW_SETTINGS)
    )
    assert result.out.splitlines()[:-1] == [
        "parallelism.default=4",
        "pipeline.max-parallelism=64",
        "state.backend=rocksdb",
    ]


def test_the_environment_is_afterwards_as_before(
    firesteel: Firesteel, program: WriteProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRESTEEL_PROPERTIES", "parallelism.default: 2")
    before = (list(sys.argv), list(sys.path))
    firesteel("run", "-p", "3", program("x = 1"), "a")
    assert Configuration.from_environment().to_dict() == {"parallelism.default": "2"}
    assert (sys.argv, sys.path) == before


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        "with: colon",
        "a # b",
        "it's",
        '"quoted"',
        " spaces ",
        "two\nlines",
        "null",
        "1e3",
        "\x7f",
        "[a, b]",
        "''",
        "",
    ],
)
def test_any_value_survives_on_its_way_to_the_program(value: str) -> None:
    assert parse_config_text(properties_text({"pipeline.name": value})) == {"pipeline.name": value}


def test_any_key_survives_too() -> None:
    settings = dict.fromkeys(("plain", "with: colon", "# sharp", "it's", "*star", "{}", "12", "true", "a b"), "x")
    assert parse_config_text(properties_text(settings)) == settings
    assert parse_config_text(properties_text({})) == {}


def test_a_slip_of_the_pen_is_warned_about(firesteel: Firesteel, program: WriteProgram) -> None:
    with pytest.warns(FiresteelWarning, match=r"did you mean parallelism\.default\?"):
        result = firesteel("run", "--conf", "paralelism.default=2", program("print('ran')"))
    assert (result.code, result.out) == (0, "ran\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--conf", "parallelism.default"], "--conf takes KEY=VALUE"),
        (["--parallelism", "0"], "parallelism.default"),
        (["--in-process", "--master", "local[2]"], "leave one out"),
        (["--conf-file", "/not/there.yaml"], "cannot be read"),
    ],
)
def test_wrong_settings_are_refused_before_anything_runs(
    firesteel: Firesteel, program: WriteProgram, arguments: list[str], message: str
) -> None:
    result = firesteel("run", *arguments, program("print('ran')"))
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert "Traceback" not in result.err


def test_a_program_that_is_not_there(firesteel: Firesteel) -> None:
    result = firesteel("run", "nowhere.py")
    assert result.code == 2
    assert "there is no program 'nowhere.py'" in result.err


def test_a_program_imports_what_stands_beside_it(firesteel: Firesteel, program: WriteProgram) -> None:
    program("NUMBER = 7", "beside_the_job.py")
    assert firesteel("run", program("from beside_the_job import NUMBER\nprint(NUMBER)")).out == "7\n"


def test_the_exit_code_of_the_program_is_that_of_the_command(firesteel: Firesteel, program: WriteProgram) -> None:
    assert firesteel("run", program("import sys; sys.exit(7)")).code == 7


def test_an_error_of_the_program_shows_its_own_lines_only(firesteel: Firesteel, program: WriteProgram) -> None:
    path = program("def f():\n    return 1 / 0\nf()\n")
    result = firesteel("run", path)
    assert result.code == 1
    assert result.err.startswith(f'Traceback (most recent call last):\n  File "{path}", line 3, in <module>\n')
    assert result.err.endswith("ZeroDivisionError: division by zero\n")
    assert "runpy" not in result.err
    assert "firesteel/cli" not in result.err


def test_a_syntax_error_names_the_line(firesteel: Firesteel, program: WriteProgram) -> None:
    result = firesteel("run", program("x = (\n"))
    assert result.code == 1
    assert "SyntaxError" in result.err
    assert 'job.py", line 1' in result.err
    assert "runpy" not in result.err


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [
        ("number = 1; numbr + 1", "Did you mean: 'number'?"),
        ("import os; os.pth", "Did you mean: 'path'?"),
        ("from firesteel.datastream import KeyedProcesFunction", "the nearest is KeyedProcessFunction in firesteel."),
        ("from firesteel.datastream import Types", "it is in firesteel.common"),
        ("import firesteel.datastrem", "the nearest is firesteel.datastream"),
        ("import pyflink.datastream", "`firesteel run --pyflink job.py`"),
    ],
)
def test_what_was_probably_meant_is_said(
    firesteel: Firesteel, program: WriteProgram, line: str, suggestion: str
) -> None:
    result = firesteel("run", program(line))
    assert result.code == 1
    assert suggestion in result.err
    assert 'job.py", line 1, in <module>' in result.err
    assert len(result.err.splitlines()) <= 15


def test_a_program_without_firesteel_run_shows_errors_alike(program: WriteProgram) -> None:
    path = program("from firesteel.datastream import StreamExecutionEnvironment as E\nE().set_parallelism(0)\n")
    environment = {key: value for key, value in os.environ.items() if key != "FIRESTEEL_DEBUG"}
    run = [sys.executable, path]
    done = subprocess.run(run, capture_output=True, text=True, check=False, env=environment)
    first, second = done.stderr.splitlines()
    assert first.startswith("firesteel: ConfigurationError: set_parallelism: parallelism must be")
    assert second == f"  at {path}:2"
    environment["FIRESTEEL_DEBUG"] = "1"
    whole = subprocess.run(run, capture_output=True, text=True, check=False, env=environment).stderr
    assert whole.startswith("Traceback (most recent call last):")


def test_an_error_of_firesteel_is_a_message_and_a_line(firesteel: Firesteel, program: WriteProgram) -> None:
    path = program(COUNT.replace(".print()", ""))
    result = firesteel("run", "--in-process", path)
    assert result.code == 1
    assert result.err.startswith("firesteel: ProgramError: the program has no sink")
    assert result.err.endswith(f"  at {path}:5\n")
    assert "Traceback" not in result.err


def test_a_failed_job_shows_the_error_of_the_function_first(firesteel: Firesteel, program: WriteProgram) -> None:
    result = firesteel("run", "--in-process", program(COUNT.replace("n * 10", "n / 0")))
    assert result.code == 1
    assert result.err.startswith("firesteel: JobFailedError: ZeroDivisionError: division by zero")
    assert "line 4, in <lambda>" in result.err


def test_debug_lets_errors_through(program: WriteProgram) -> None:
    path = program(COUNT.replace(".print()", ""))
    for arguments in (["--debug", "run", path], ["run", "--debug", path]):
        with pytest.raises(ProgramError):
            main(arguments)


def test_control_c_ends_quietly(firesteel: Firesteel, program: WriteProgram) -> None:
    result = firesteel("run", program("raise KeyboardInterrupt"))
    assert (result.code, result.err) == (130, "firesteel: interrupted\n")


def test_rest_is_served_where_flinks_is_unless_told(
    firesteel: Firesteel, program: WriteProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "rest.port" not in firesteel("run", program(SHOW_SETTINGS)).out
    assert "rest.port=8081" in firesteel("run", "--rest", program(SHOW_SETTINGS)).out
    assert "rest.port=0" in firesteel("run", "--rest", "-c", "rest.port=0", program(SHOW_SETTINGS)).out
    started: dict[tuple[str, int], RestServer] = {}
    monkeypatch.setattr(server, "_servers", started)
    served = firesteel("run", "--rest", "--in-process", "-p", "1", "-c", "rest.port=0", program(COUNT))
    (running,) = started.values()
    running.stop()
    assert served.out == "10\n20\n"
    assert f"the REST API of this program is at {running.url}" in served.err


def test_rest_without_its_packages_says_what_to_install(
    firesteel: Firesteel, program: WriteProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "firesteel.rest", None)
    result = firesteel("run", "--in-process", "-c", "rest.port=0", program(COUNT))
    assert result.code != 0 and result.out == ""
    assert "pip install 'firesteel[rest]'" in result.err
