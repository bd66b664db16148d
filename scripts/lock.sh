#!/usr/bin/env bash
# Usage: lock.sh PYTHON
# Resolves pyproject.toml in an empty virtual environment and rewrites the pins of constraints.txt.
set -euo pipefail

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

scripts/ensure-venv.sh "$1" "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --editable '.[dev,bench,services]'
grep '^#' constraints.txt >"$work/constraints.txt"
"$work/venv/bin/python" -m pip freeze --exclude-editable | grep -v '^#' >>"$work/constraints.txt"
cp "$work/constraints.txt" constraints.txt
