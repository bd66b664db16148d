"""Running in the driver's own process: what users' tools see of it."""

from __future__ import annotations

import subprocess
import sys

PROFILED = """
import cProfile
from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment

def run():
    configuration = Configuration.from_dict({"execution.target": "in-process"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_sequence(0, 99).key_by(lambda n: n % 5).reduce(lambda a, b: a + b).add_sink(lambda _: None)
    env.execute("profiled")

run()
profile = cProfile.Profile()
profile.runcall(run)
print("ended with", len(profile.getstats()) > 100)
"""


def test_a_program_can_be_profiled() -> None:
    # In a process of its own: what this guards against is an interpreter that hears no signal any more.
    done = subprocess.run([sys.executable, "-c", PROFILED], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "ended with True", done.stderr
