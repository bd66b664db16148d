"""A method on the wrong kind of stream says what to call instead."""

from __future__ import annotations

import copy

import pytest

from firesteel.common import Time
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.window import TumblingProcessingTimeWindows

WINDOW = TumblingProcessingTimeWindows.of(Time.seconds(1))


@pytest.mark.parametrize(
    ("use", "hint"),
    [
        (lambda s: s.window(WINDOW), r"call key_by\(\.\.\.\) before window\(\.\.\.\), or window_all"),
        (lambda s: s.countWindow(2), r"call key_by\(\.\.\.\) first, or count_window_all"),
        (lambda s: s.sum(0), r"sum\(\.\.\.\) is per key: call key_by"),
        (lambda s: s.reduce(max), r"reduce\(\.\.\.\) is per key: call key_by"),
        (lambda s: s.aggregate(max), "is for windows"),
        (lambda s: s.execute(), r"call execute\(\) on the environment"),
        (lambda s: s.key_by(lambda n: n).window(WINDOW).print(), "needs a function before print"),
        (lambda s: s.window_all(WINDOW).map(str), "needs a function before map"),
        (lambda s: s.connect(s).print(), "which make one stream; then print"),
        (lambda s: s.join(s).window(WINDOW), r"join\(other\)\.where"),
        (lambda s: s.join(s).where(str).window(WINDOW), r"join\(other\)\.where"),
        (lambda s: s.get_execution_environment().read_csv("x"), "FileSource"),
        (lambda s: s.get_execution_environment().run(), r"execute\(\) runs"),
    ],
)
def test_what_to_call_instead_is_said(env: StreamExecutionEnvironment, use, hint: str) -> None:
    with pytest.raises(AttributeError, match=f"object has no attribute .*{hint}"):
        use(env.from_collection([1]))


def test_other_names_are_missing_as_always(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1])
    with pytest.raises(AttributeError, match=r"^'DataStream' object has no attribute 'mapp'$") as missing:
        stream.mapp(str)
    assert (missing.value.name, missing.value.obj) == ("mapp", stream)  # from these Python takes what it suggests
    assert not hasattr(stream, "window")
    assert hasattr(stream.key_by(lambda n: n), "window")
    assert copy.copy(stream).get_name() == stream.get_name()
