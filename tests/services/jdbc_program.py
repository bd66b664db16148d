"""A job from one table to another, exactly once, which kills itself where it is told to. A script."""

from __future__ import annotations

import argparse
import os
from typing import Any

from firesteel.common import Types, WatermarkStrategy
from firesteel.connectors.jdbc.committer import MarkerCommitter
from firesteel.connectors.jdbc.session import Session
from firesteel.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcNumericBetweenParametersProvider,
    JdbcSink,
    JdbcSource,
)
from firesteel.state.store import CheckpointStore
from tests.services.program import crash_around, environment

CRASH_POINTS: dict[str, tuple[Any, str]] = {
    "manifest": (CheckpointStore, "write_manifest"),
    "commit": (MarkerCommitter, "commit"),
    "transaction": (Session, "commit"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("url", "user", "source", "sink", "checkpoints"):
        parser.add_argument(name)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--crash", help="point:before|after:n")
    arguments = parser.parse_args()
    if arguments.crash:
        point, when, nth = arguments.crash.split(":")
        crash_around(*CRASH_POINTS[point], when, int(nth))
    settings = {
        "execution.target": "in-process",
        "firesteel.epoch.max-records": "100",
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.dir": arguments.checkpoints,
    }
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(arguments.url)
    options = builder.with_user_name(arguments.user).with_password(os.environ["DATABASE_PASSWORD"]).build()
    source = (
        JdbcSource.builder()
        .set_connection_options(options)
        .set_sql(f"SELECT id FROM {arguments.source} WHERE id BETWEEN ? AND ? ORDER BY id")
        .set_jdbc_parameter_values_provider(
            JdbcNumericBetweenParametersProvider(0, arguments.records - 1).of_batch_num(4)
        )
        .set_type_information(Types.LONG())
        .build()
    )
    env = environment(settings)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    sink = JdbcSink.exactly_once_sink(f"INSERT INTO {arguments.sink} (id) VALUES (?)", Types.LONG(), options)
    numbers.sink_to(sink).uid("out")
    env.execute("jdbc")


if __name__ == "__main__":
    main()
