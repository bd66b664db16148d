"""The file sink: hidden until committed, once whatever happens, folders, rolling, joining, formats."""

from __future__ import annotations

import datetime
import decimal
import io
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from firesteel.common import Encoder, Row, Types
from firesteel.common.time import Instant
from firesteel.connectors.files import staging
from firesteel.connectors.files.buckets import BucketAssigner
from firesteel.connectors.files.compaction import FileCompactor, FileCompactStrategy
from firesteel.connectors.files.date_format import date_formatter
from firesteel.connectors.files.encoders import CsvEncoder, JsonLinesEncoder
from firesteel.connectors.files.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from firesteel.connectors.files.rolling import OutputFileConfig, RollingPolicy
from firesteel.connectors.files.sink import FileSink, StreamingFileSink
from firesteel.connectors.files.staging import SinkRun
from firesteel.connectors.files.storage import ArrowStorage
from firesteel.errors import (
    CheckpointError,
    CommitError,
    ConfigurationError,
    ProgramError,
    TypeMismatchError,
    UnsupportedError,
)
from firesteel.model.sink import WriterContext
from tests.unit.connectors.files import hidden, lines, open_writer, prepare, requests, visible, write
from tests.written_files import note_syncs

DAY = 24 * 3600 * 1000


def rows(base: Path) -> FileSink.RowFormatBuilder:
    builder = FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
    return builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())


# --- two phases -----------------------------------------------------------------------------------------


def test_files_are_hidden_until_they_are_committed(tmp_path: Path) -> None:
    sink = rows(tmp_path).build()
    writer = open_writer(sink)
    write(writer, ["a", "b"])
    assert visible(tmp_path) == {}
    assert [name.rpartition(".")[2] for name in hidden(tmp_path)] == ["inprogress"]
    committables, _ = prepare(writer)
    assert visible(tmp_path) == {}
    assert [name.rpartition(".")[2] for name in hidden(tmp_path)] == ["pending"]
    sink.create_committer().commit(requests(committables))
    assert list(visible(tmp_path).values()) == ["a\nb\n"]
    assert re.fullmatch(r"part-0-[0-9a-f]{12}-0", next(iter(visible(tmp_path))))
    assert hidden(tmp_path) == []


def test_every_checkpoint_begins_new_files(tmp_path: Path) -> None:
    sink = rows(tmp_path).build()
    writer, committer = open_writer(sink), sink.create_committer()
    for value in ("a", "b"):
        write(writer, [value])
        committer.commit(requests(prepare(writer)[0]))
    assert sorted(visible(tmp_path).values()) == ["a\n", "b\n"]
    assert prepare(writer)[0] == []


def test_committing_again_changes_nothing(tmp_path: Path) -> None:
    sink = rows(tmp_path).build()
    writer = open_writer(sink)
    write(writer, ["a"])
    committables, _ = prepare(writer)
    sink.create_committer().commit(requests(committables))
    before = visible(tmp_path)
    sink.create_committer().commit(requests(committables))
    assert visible(tmp_path) == before


def test_a_file_that_was_consumed_after_its_commit_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = rows(tmp_path).build()
    writer = open_writer(sink)
    write(writer, ["a"])
    committables, _ = prepare(writer)
    sink.create_committer().commit(requests(committables))
    Path(committables[0]["final"]).unlink()
    sink.create_committer().commit(requests(committables))
    assert "must have been consumed" in caplog.text


def test_a_file_that_changed_after_its_checkpoint_is_not_shown(tmp_path: Path) -> None:
    sink = rows(tmp_path).build()
    writer = open_writer(sink)
    write(writer, ["abc"])
    committables, _ = prepare(writer)
    Path(committables[0]["pending"]).write_text("a")
    with pytest.raises(CheckpointError, match="has 1 bytes but had 4"):
        sink.create_committer().commit(requests(committables))
    assert visible(tmp_path) == {}


def test_a_restarted_attempt_sweeps_what_the_failed_one_left(tmp_path: Path) -> None:
    sink = rows(tmp_path).build()
    first = open_writer(sink)
    write(first, ["prepared"])
    prepare(first)  # of an epoch that failed elsewhere: nobody was told
    write(first, ["in progress"])
    assert len(hidden(tmp_path)) == 2
    second = open_writer(sink, attempt=1)
    assert hidden(tmp_path) == []
    write(second, ["again"])
    sink.create_committer().commit(requests(prepare(second)[0]))
    assert lines(tmp_path) == ["again"]


def test_another_instance_in_the_same_attempt_leaves_what_waits_for_its_checkpoint(tmp_path: Path) -> None:
    sink = rows(tmp_path).build()
    first = open_writer(sink)
    write(first, ["prepared"])
    committables, state = prepare(first)
    write(first, ["in progress"])
    open_writer(sink, restored=[state])
    assert [name.rpartition(".")[2] for name in hidden(tmp_path)] == ["pending"]
    sink.create_committer().commit(requests(committables))
    assert lines(tmp_path) == ["prepared"]


def test_subtasks_and_uses_of_a_sink_leave_each_other_alone(tmp_path: Path) -> None:
    sink = rows(tmp_path).build()
    other = sink.for_operator()
    for each, subtask in ((sink, 0), (sink, 1), (other, 0)):
        write(open_writer(each, subtask), ["x"])
    open_writer(sink, 0, attempt=1)
    assert len(hidden(tmp_path)) == 2


def test_leftovers_of_a_program_that_was_killed_are_swept_by_its_successor(tmp_path: Path) -> None:
    sink = rows(tmp_path).build()
    killed = FileSink(replace(sink._settings, run=replace(sink._settings.run, pid=2**22 + 1)))
    writer = open_writer(killed)
    _, state = prepare(writer)
    write(writer, ["lost"])
    open_writer(sink.for_operator(), restored=[state])
    assert hidden(tmp_path) == []


def test_leftovers_of_a_program_that_may_be_alive_stay(tmp_path: Path) -> None:
    alive = rows(tmp_path).build()
    elsewhere = FileSink(replace(alive._settings, run=SinkRun("elsewhere", "another.host", 2**22 + 1)))
    for former in (alive, elsewhere):
        writer = open_writer(former)
        _, state = prepare(writer)
        write(writer, ["x"])
        open_writer(alive.for_operator(), restored=[state])
    assert len(hidden(tmp_path)) == 2


def test_closing_deletes_what_is_not_complete(tmp_path: Path) -> None:
    sink = rows(tmp_path).build()
    writer = open_writer(sink)
    write(writer, ["a"])
    committables, _ = prepare(writer)
    write(writer, ["b"])
    writer.close()
    committer = sink.create_committer()
    committer.commit(requests(committables))
    committer.close()
    assert lines(tmp_path) == ["a"]
    assert not (tmp_path / ".inprogress").exists()


def test_aborting_deletes_prepared_files(tmp_path: Path) -> None:
    sink = rows(tmp_path).build()
    writer = open_writer(sink)
    write(writer, ["a"])
    committables, _ = prepare(writer)
    sink.create_committer().abort(committables)
    assert hidden(tmp_path) == []


@pytest.mark.feature("SS-11")
def test_no_half_written_file_is_visible_whenever_the_writer_is_killed(tmp_path: Path) -> None:
    # Killed after any number of steps, restored from the last checkpoint, run again: the same files' content.
    script: list[Any] = ["a", "b", "checkpoint", "c", "checkpoint", "d", "e", "checkpoint"]
    for cut in range(len(script) + 1):
        base = tmp_path / str(cut)
        sink = rows(base).build()
        committer = sink.create_committer()
        done, position = _run(script[:cut], sink, committer, 0, None, 0)
        assert all(text.endswith("\n") for text in visible(base).values())
        _run(script, sink, committer, 1, done, position)
        assert lines(base) == ["a", "b", "c", "d", "e"]
        assert hidden(base) == []


def _run(script: list[Any], sink: FileSink, committer: Any, attempt: int, state: Any, start: int) -> tuple[Any, int]:
    """Drop the writer without closing it at the end of the script: the state and place of the last checkpoint."""
    writer = open_writer(sink, attempt=attempt, restored=[] if state is None else [state])
    for place in range(start, len(script)):
        if script[place] == "checkpoint":
            committables, state = prepare(writer)
            committer.commit(requests(committables))
            start = place + 1
        else:
            write(writer, [script[place]])
    return state, start


# --- folders --------------------------------------------------------------------------------------------


def bucket(assigner: BucketAssigner, timestamp: int | None, now: int = 0) -> str:
    return assigner.get_bucket_id("record", WriterContext(timestamp, 0, now))


@pytest.mark.feature("SS-11")
def test_folders_by_processing_and_event_time() -> None:
    at = 1704103200000  # 2024-01-01T10:00:00Z
    assert bucket(BucketAssigner.date_time_bucket_assigner(timezone_id="UTC"), None, at) == "2024-01-01--10"
    assert bucket(BucketAssigner.event_time_bucket_assigner(timezone_id="UTC"), at, 0) == "2024-01-01--10"
    berlin = BucketAssigner.event_time_bucket_assigner("yyyy/MM/dd/HH-mm", "Europe/Berlin")
    assert bucket(berlin, at + 90_000) == "2024/01/01/11-01"
    assert bucket(BucketAssigner.event_time_bucket_assigner(timezone_id="UTC"), -1) == "1969-12-31--23"
    with pytest.raises(ProgramError, match="no timestamp"):
        bucket(berlin, None)


@pytest.mark.feature("SS-11")
def test_records_land_in_the_folder_of_their_time(tmp_path: Path) -> None:
    builder = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    sink = builder.with_bucket_assigner(BucketAssigner.event_time_bucket_assigner("yyyy-MM-dd", "UTC")).build()
    writer = open_writer(sink)
    for day in (0, 1, 0):
        write(writer, [f"day {day}"], timestamp=day * DAY)
    sink.create_committer().commit(requests(prepare(writer)[0]))
    found = {name.partition("/")[0]: text for name, text in visible(tmp_path).items()}
    assert found == {"1970-01-01": "day 0\nday 0\n", "1970-01-02": "day 1\n"}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd--HH", "2024-03-05--07"),
        ("yy/M/d", "24/3/5"),
        ("'day='D' at' h a", "day=65 at 7 AM"),
        ("MMM MMMM EEE EEEE", "Mar March Tue Tuesday"),
        ("HH:mm:ss.SSS", "07:08:09.012"),
        ("''yyyy''", "'2024'"),
        ("uuuu_DDD", "2024_065"),
    ],
)
def test_patterns_of_java(pattern: str, text: str) -> None:
    assert date_formatter(pattern)(datetime.datetime(2024, 3, 5, 7, 8, 9, 12345)) == text


@pytest.mark.parametrize("pattern", ["", "yyyy-QQ", "MMMMM", "'open", "yyyyy"])
def test_patterns_that_are_not_known(pattern: str) -> None:
    with pytest.raises(ConfigurationError):
        BucketAssigner.date_time_bucket_assigner(pattern)


def test_a_time_zone_that_is_not_known() -> None:
    with pytest.raises(ConfigurationError, match="Mars"):
        BucketAssigner.date_time_bucket_assigner(timezone_id="Mars/Olympus")


class ByLetter(BucketAssigner):
    def get_bucket_id(self, element: Any, context: WriterContext) -> str:
        return f"letter={element[0]}" if element[0].isalpha() else str(element)


def test_folders_by_a_rule_of_the_user(tmp_path: Path) -> None:
    sink = rows(tmp_path).with_bucket_assigner(ByLetter()).build()
    writer = open_writer(sink)
    write(writer, ["ab", "ba", "ac"])
    sink.create_committer().commit(requests(prepare(writer)[0]))
    assert sorted((name.partition("/")[0], text) for name, text in visible(tmp_path).items()) == [
        ("letter=a", "ab\nac\n"),
        ("letter=b", "ba\n"),
    ]
    for outside in ("../up", "1//2"):
        with pytest.raises(ProgramError, match="no folder below"):
            write(writer, [outside])


class BySecond(BucketAssigner):
    def get_bucket_id(self, element: Any, context: WriterContext) -> str:
        return str(element[1])


@pytest.mark.parametrize(
    "bucket",
    ["n" * 300, "a/" + "\u00e9" * 200, "/".join(["deep"] * 1000), "nul\0", "half \ud800", "occupied", "occupied/below"],
    ids=["name", "bytes", "path", "nul", "surrogate", "file", "below a file"],
)
@pytest.mark.feature("SS-11")
def test_a_folder_that_cannot_be_is_refused_with_its_record(tmp_path: Path, bucket: str) -> None:
    (tmp_path / "occupied").write_text("a file")
    sink = rows(tmp_path).with_bucket_assigner(BySecond()).build()
    writer = open_writer(sink)
    write(writer, [("first", "good")])
    with pytest.raises(ProgramError, match=r"the record \('second', .* cannot hold files below"):
        write(writer, [("second", bucket)])
    sink.create_committer().commit(requests(prepare(writer)[0]))
    assert [text for name, text in visible(tmp_path).items() if name.startswith("good/")] == ["('first', 'good')\n"]
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("bucket", [".inprogress", ".inprogress/x", ".InProgress"])
def test_the_hidden_place_is_no_folder_for_records(tmp_path: Path, bucket: str) -> None:
    writer = open_writer(rows(tmp_path).with_bucket_assigner(BySecond()).build())
    with pytest.raises(ProgramError, match=r"not complete\. Return another name"):
        write(writer, [("a", bucket)])


def test_a_folder_on_another_disk_is_refused(tmp_path: Path) -> None:
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one disk only")
    (tmp_path / "far").symlink_to(elsewhere)
    writer = open_writer(rows(tmp_path).with_bucket_assigner(BySecond()).build())
    with pytest.raises(ProgramError, match="another file system"):
        write(writer, [("a", "far")])


def test_names_of_files_that_no_file_system_takes_are_refused_at_once() -> None:
    for prefix, suffix in (("p" * 200, ""), ("part", "\0"), ("part", "\ud800"), ("part", "/x")):
        with pytest.raises(ConfigurationError, match="part_"):
            OutputFileConfig.builder().with_part_prefix(prefix).with_part_suffix(suffix).build()


def test_the_longest_names_can_be_written_joined_and_shown(tmp_path: Path) -> None:
    config = OutputFileConfig.builder().with_part_prefix("p" * 156).with_part_suffix(".txt").build()
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
    builder = rows(tmp_path).with_output_file_config(config)
    sink = builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).build()
    writer = open_writer(sink)
    for value in ("a", "b"):
        write(writer, [value])
        committables, _ = prepare(writer)
    sink.create_committer().commit(requests(committables))
    assert list(visible(tmp_path).values()) == ["a\nb\n"]


def test_a_commit_that_is_in_the_way_of_something_says_what_and_where(tmp_path: Path) -> None:
    sink = rows(tmp_path).with_bucket_assigner(BySecond()).build()
    writer = open_writer(sink)
    write(writer, [("a", "folder")])
    committables, _ = prepare(writer)
    (tmp_path / "folder").rmdir()
    (tmp_path / "folder").write_text("in the way")
    with pytest.raises(CommitError, match=r"\.pending cannot be moved to .*/folder/part.*Remove what is in the way"):
        sink.create_committer().commit(requests(committables))
    (tmp_path / "folder").unlink()
    sink.create_committer().commit(requests(committables))
    assert lines(tmp_path) == ["('a', 'folder')"]


def test_no_empty_folders_stay_of_what_was_aborted(tmp_path: Path) -> None:
    sink = rows(tmp_path).with_bucket_assigner(BySecond()).build()
    writer = open_writer(sink)
    write(writer, [("a", "one")])
    committables, _ = prepare(writer)
    write(writer, [("b", "two")])
    sink.create_committer().abort(committables)
    writer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".inprogress"]


def test_what_is_shown_has_been_forced_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names as well: otherwise a loss of power would take back a rename that a checkpoint relies on."""
    synced = note_syncs(monkeypatch)
    sink = rows(tmp_path).with_bucket_assigner(BySecond()).build()
    writer = open_writer(sink)
    write(writer, [("a", "new/folder")])
    committables, _ = prepare(writer)
    assert str(Path(committables[0]["pending"]).parent) in synced
    synced.clear()
    sink.create_committer().commit(requests(committables))
    assert synced == [str(tmp_path / "new" / "folder")]


def test_many_folders_do_not_keep_many_files_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firesteel.connectors.files.writer._MAX_OPEN", 2)
    sink = rows(tmp_path).with_bucket_assigner(ByLetter()).build()
    writer = open_writer(sink)
    write(writer, ["a1", "b1", "c1", "a2"])
    assert sum(name.endswith(".inprogress") for name in hidden(tmp_path)) == 2
    sink.create_committer().commit(requests(prepare(writer)[0]))
    assert lines(tmp_path) == ["a1", "a2", "b1", "c1"]


# --- rolling, names, joining ----------------------------------------------------------------------------


def test_a_file_rolls_by_size(tmp_path: Path) -> None:
    sink = rows(tmp_path).with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=4)).build()
    writer = open_writer(sink)
    write(writer, ["ab", "c", "d", "e"])
    sink.create_committer().commit(requests(prepare(writer)[0]))
    assert sorted(visible(tmp_path).values()) == ["ab\nc\n", "d\ne\n"]


def test_a_file_of_just_its_size_takes_one_more_record(tmp_path: Path) -> None:
    """As in Flink: a file rolls when it is larger than its size, not when it has reached it."""
    sink = rows(tmp_path).with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=4)).build()
    writer = open_writer(sink)
    write(writer, ["abc", "d", "e"])
    sink.create_committer().commit(requests(prepare(writer)[0]))
    assert sorted(visible(tmp_path).values()) == ["abc\nd\n", "e\n"]


def test_a_file_rolls_by_age_and_by_silence(tmp_path: Path) -> None:
    policy = RollingPolicy.default_rolling_policy(rollover_interval=100, inactivity_interval=50)
    sink = rows(tmp_path).with_rolling_policy(policy).with_bucket_check_interval(10).build()
    writer = open_writer(sink)
    for now, value in ((0, "a"), (40, "b"), (80, "c"), (100, "d"), (109, "e"), (150, "f"), (200, "g")):
        write(writer, [value], now=now)
    sink.create_committer().commit(requests(prepare(writer)[0]))
    assert sorted(visible(tmp_path).values()) == ["a\nb\nc\n", "d\ne\nf\n", "g\n"]


def test_time_is_looked_at_as_often_as_the_interval_says(tmp_path: Path) -> None:
    policy = RollingPolicy.default_rolling_policy(rollover_interval=10)
    sink = rows(tmp_path).with_rolling_policy(policy).with_bucket_check_interval(1000).build()
    writer = open_writer(sink)
    for now in (0, 500, 999, 1000):
        write(writer, [now], now=now)
    sink.create_committer().commit(requests(prepare(writer)[0]))
    assert sorted(visible(tmp_path).values()) == ["0\n500\n999\n", "1000\n"]


def test_names_of_files(tmp_path: Path) -> None:
    config = OutputFileConfig.builder().with_part_prefix("orders").with_part_suffix(".csv").build()
    assert (config.get_part_prefix(), config.get_part_suffix()) == ("orders", ".csv")
    sink = rows(tmp_path).with_output_file_config(config).build()
    writer = open_writer(sink, subtask=3)
    write(writer, ["a"])
    sink.create_committer().commit(requests(prepare(writer)[0]))
    assert re.fullmatch(r"orders-3-[0-9a-f]{12}-0\.csv", next(iter(visible(tmp_path))))


@pytest.mark.parametrize(("prefix", "suffix"), [(".part", ""), ("_x", ""), ("a/b", ""), ("", ""), ("a", "/")])
def test_names_that_would_be_hidden_or_elsewhere(prefix: str, suffix: str) -> None:
    with pytest.raises(ConfigurationError):
        OutputFileConfig(prefix, suffix)


def joined(base: Path, compactor: FileCompactor | None = None, checkpoints: int = 2) -> FileSink:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(checkpoints).set_num_compact_threads(2)
    return rows(base).enable_compact(strategy.build(), compactor or FileCompactor.concat_file_compactor()).build()


def test_small_files_are_joined_before_they_are_shown(tmp_path: Path) -> None:
    sink = joined(tmp_path)
    writer, committer = open_writer(sink), sink.create_committer()
    for number in range(5):
        write(writer, [number])
        committer.commit(requests(prepare(writer)[0]))
    assert sorted(visible(tmp_path).values()) == ["0\n1\n", "2\n3\n"]
    assert all(name.startswith("compacted-part-0-") for name in visible(tmp_path))
    assert len(hidden(tmp_path)) == 1
    committer.commit(requests(prepare(writer, end=True)[0]))  # at the end nothing is held back
    assert sorted(visible(tmp_path).values()) == ["0\n1\n", "2\n3\n", "4\n"]
    assert hidden(tmp_path) == []


def test_files_are_joined_when_they_are_large_enough(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().set_size_threshold(6).build()
    sink = rows(tmp_path).enable_compact(strategy, FileCompactor.concat_file_compactor(b"--\n")).build()
    writer, committer = open_writer(sink), sink.create_committer()
    for value in ("aa", "bb", "c"):
        write(writer, [value])
        committer.commit(requests(prepare(writer)[0]))
    assert list(visible(tmp_path).values()) == ["aa\n--\nbb\n"]


def test_files_that_wait_to_be_joined_survive_a_failure(tmp_path: Path) -> None:
    sink = joined(tmp_path, checkpoints=3)
    first, committer = open_writer(sink), sink.create_committer()
    write(first, ["a"])
    committables, state = prepare(first)
    assert committables == []
    # The next epochs release the files, but do not hold: what the checkpoint holds must stay.
    write(first, ["b"])
    first.flush(True)
    committer.abort(list(first.prepare_commit(1)))
    second = open_writer(sink, attempt=1, restored=[state])
    write(second, ["b"])
    prepare(second)
    write(second, ["c"])
    committer.commit(requests(prepare(second)[0]))
    assert list(visible(tmp_path).values()) == ["a\nb\nc\n"]
    assert hidden(tmp_path) == []


def test_files_that_were_held_back_are_shown_when_joining_is_turned_off(tmp_path: Path) -> None:
    before = joined(tmp_path, checkpoints=9)
    writer = open_writer(before)
    write(writer, ["a"])
    _, state = prepare(writer)
    after = rows(tmp_path).enable_compact(before._settings.strategy, before._settings.compactor)  # type: ignore[arg-type]
    sink = after.disable_compact().build()
    sink.create_committer().commit(requests(prepare(open_writer(sink, restored=[state]))[0]))
    assert lines(tmp_path) == ["a"]


def test_restoring_a_checkpoint_whose_held_files_are_gone_is_refused(tmp_path: Path) -> None:
    sink = joined(tmp_path)
    writer, committer = open_writer(sink), sink.create_committer()
    write(writer, ["a"])
    _, old = prepare(writer)
    write(writer, ["b"])
    committer.commit(requests(prepare(writer)[0]))
    with pytest.raises(CheckpointError, match="newest checkpoint"):
        open_writer(sink, attempt=1, restored=[old])


def test_the_identical_compactor_shows_files_one_by_one(tmp_path: Path) -> None:
    sink = joined(tmp_path, FileCompactor.identical_file_compactor())
    writer, committer = open_writer(sink), sink.create_committer()
    for number in range(2):
        write(writer, [number])
        committables, _ = prepare(writer)
        committer.commit(requests(committables))
        assert len(committables) == (0 if number == 0 else 2)
    assert sorted(visible(tmp_path).values()) == ["0\n", "1\n"]
    output = io.BytesIO()
    FileCompactor.identical_file_compactor().compact([io.BytesIO(b"x")], output)
    assert output.getvalue() == b"x"


# --- formats --------------------------------------------------------------------------------------------


@dataclass
class Order:
    id: int
    item: str


@pytest.mark.parametrize(
    ("encoder", "record", "line"),
    [
        (Encoder.simple_string_encoder(), 7, "7\n"),
        (JsonLinesEncoder(), Row(id=1, item="ä"), '{"id": 1, "item": "ä"}\n'),
        (JsonLinesEncoder(), Order(1, "tea"), '{"id": 1, "item": "tea"}\n'),
        (JsonLinesEncoder(), (1, {"at": datetime.date(2024, 1, 2)}), '[1, {"at": "2024-01-02"}]\n'),
        (CsvEncoder(), Order(1, 'a "b", c'), '1,"a ""b"", c"\n'),
        (CsvEncoder(["item", "id"]), Row(id=1, item="x"), "x,1\n"),
        (CsvEncoder(["item"], delimiter=";"), {"item": None}, '""\n'),
        (CsvEncoder(delimiter="|"), ("a|b", 2), '"a|b"|2\n'),
        (CsvEncoder(), 5, "5\n"),
    ],
)
def test_how_records_become_lines(encoder: Encoder, record: Any, line: str) -> None:
    stream = io.BytesIO()
    encoder.encode(record, stream)
    assert stream.getvalue().decode() == line


def test_a_record_without_the_declared_fields(tmp_path: Path) -> None:
    with pytest.raises(TypeMismatchError, match="price"):
        CsvEncoder(["price"]).encode(Order(1, "x"), io.BytesIO())


ROW_TYPE = Types.ROW_NAMED(
    ["id", "at", "tags", "more", "price", "raw", "inner", "moment"],
    [
        Types.LONG(),
        Types.SQL_TIMESTAMP(),
        Types.LIST(Types.STRING()),
        Types.MAP(Types.STRING(), Types.SQL_DATE()),
        Types.BIG_DEC(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.ROW_NAMED(["x"], [Types.INT()]),
        Types.INSTANT(),
    ],
)
RECORD = Row(
    id=1,
    at=datetime.datetime(2024, 1, 1, 10, 30, 0, 5),
    tags=["a", None],
    more={"d": datetime.date(2024, 2, 29)},
    price=decimal.Decimal("1.5"),
    raw=b"\x00\xff",
    inner=Row(x=3),
    moment=Instant(5, 123456789),
)


@pytest.mark.parametrize("utc", [False, True])
def test_parquet_there_and_back(tmp_path: Path, utc: bool) -> None:
    nothing = Row(**dict.fromkeys(ROW_TYPE.get_field_names()))
    sink = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(ROW_TYPE, utc_timestamp=utc))
    built = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    writer = open_writer(built)
    write(writer, [RECORD, nothing])
    built.create_committer().commit(requests(prepare(writer)[0]))
    (path,) = [each for each in tmp_path.iterdir() if each.is_file()]
    with path.open("rb") as stream:
        format = ParquetColumnarRowInputFormat(ROW_TYPE, is_utc_timestamp=utc)
        assert [row for batch in format.read_batches(stream, 0) for row in batch] == [RECORD, nothing]


@pytest.mark.parametrize("record", [Order(1, "tea"), (1, "tea"), {"id": 1, "item": "tea"}, Row(1, "tea")])
def test_parquet_takes_records_of_any_shape(tmp_path: Path, record: Any) -> None:
    import pyarrow.parquet as pq

    stream = (tmp_path / "x").open("wb")
    writer = ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["id", "item"], [Types.INT(), Types.STRING()])).create(
        stream
    )
    writer.add_element(record)
    writer.finish()
    stream.close()
    assert pq.read_table(tmp_path / "x").to_pylist() == [{"id": 1, "item": "tea"}]


def test_parquet_refuses_what_does_not_fit() -> None:
    row_type = Types.ROW_NAMED(["id"], [Types.INT()])
    for wrong in ("text", 2**40):
        writer = ParquetBulkWriters.for_row_type(row_type).create(io.BytesIO())
        writer.add_element([wrong])
        with pytest.raises(TypeMismatchError, match="id: int32"):
            writer.flush()
    with pytest.raises(TypeMismatchError, match="the fields id"):
        writer.add_element((1, 2))
    with pytest.raises(UnsupportedError, match="Hadoop"):
        ParquetBulkWriters.for_row_type(row_type, hadoop_config={})
    with pytest.raises(UnsupportedError, match="'f0'"):
        ParquetBulkWriters.for_row_type(Types.ROW([Types.PICKLED_BYTE_ARRAY()]))
    with pytest.raises(ConfigurationError, match="row type"):
        ParquetBulkWriters.for_row_type(Types.INT())  # type: ignore[arg-type]


# --- building -------------------------------------------------------------------------------------------


class _Nothing(Encoder):
    def encode(self, element: Any, stream: BinaryIO) -> None:
        return None


def test_what_a_builder_refuses(tmp_path: Path) -> None:
    bulk = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(Types.ROW([Types.INT()])))
    strategy = FileCompactStrategy.builder().set_size_threshold(1).build()
    with pytest.raises(ConfigurationError, match="on_checkpoint"):
        bulk.with_rolling_policy(RollingPolicy.default_rolling_policy())
    with pytest.raises(UnsupportedError, match="byte by byte"):
        bulk.enable_compact(strategy, FileCompactor.concat_file_compactor())
    with pytest.raises(ConfigurationError, match="Encoder"):
        FileSink.for_row_format(str(tmp_path), print)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="BucketAssigner"):
        rows(tmp_path).with_bucket_assigner("daily")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="file system of"):
        FileSink.for_row_format("nowhere://x", _Nothing())
    with pytest.raises(ConfigurationError, match="never join"):
        FileCompactStrategy.builder().build()
    with pytest.raises(ConfigurationError, match="part_size"):
        RollingPolicy.default_rolling_policy(part_size=0)


def test_the_older_name_warns_and_works(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="use FileSink"):
        builder = StreamingFileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    assigner = BucketAssigner.base_path_bucket_assigner()
    sink = builder.with_bucket_assigner(assigner).with_rolling_policy(RollingPolicy.default_rolling_policy()).build()
    writer = open_writer(sink.for_operator())
    write(writer, ["a"])
    sink.create_committer().commit(requests(prepare(writer)[0]))
    assert lines(tmp_path) == ["a"]


def test_other_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow.fs import LocalFileSystem

    # Any file system of pyarrow: its local one behaves like the others and needs no server.
    def arrow(uri: str) -> tuple[ArrowStorage, str]:
        return ArrowStorage(LocalFileSystem()), uri

    monkeypatch.setattr("firesteel.connectors.files.writer.open_storage", arrow)
    sink = joined(tmp_path)
    first = open_writer(sink)
    write(first, ["lost"])
    writer, committer = open_writer(sink, attempt=1), sink.create_committer()
    for value in ("a", "b", "c"):
        write(writer, [value])
        committables, _ = prepare(writer, end=value == "c")
        committer.commit(requests(committables))
        committer.commit(requests(committables))
    writer.close()
    committer.close()
    assert sorted(visible(tmp_path).values()) == ["a\nb\n", "c\n"]
    assert not (tmp_path / ".inprogress").exists()


def test_who_is_surely_over(monkeypatch: pytest.MonkeyPatch) -> None:
    here = SinkRun.of_this_process()
    assert not here.surely_over()
    assert replace(here, pid=2**22 + 1).surely_over()

    def not_ours(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(staging.os, "kill", not_ours)
    assert not here.surely_over()
