"""``python -m firesteel.pyflink job.py``: run a program that was written for PyFlink."""

import importlib
import sys

# The command line is a layer above this one, hence reached by name.
sys.exit(importlib.import_module("firesteel.cli").main(["run", "--pyflink", *sys.argv[1:]]))
