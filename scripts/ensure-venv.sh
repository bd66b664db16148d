#!/usr/bin/env bash
# Usage: ensure-venv.sh PYTHON DIRECTORY
# Creates a virtual environment, installing Debian's missing venv package where that is possible.
set -euo pipefail

readonly python=$1 directory=$2

if ! command -v "$python" >/dev/null; then
    echo "Python: '$python' not found. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "Python: $("$python" --version) is too old, PySpark 4.3 needs 3.11 or newer." \
        "Name another one: make PYTHON=python3.12" >&2
    exit 1
fi
if "$python" -m venv --help >/dev/null 2>&1 && "$python" -c 'import ensurepip' 2>/dev/null; then
    exec "$python" -m venv "$directory"
fi

# Debian keeps ensurepip in a package of its own.
if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
    echo "Python: the venv module is incomplete. Install the package python3-venv and run this again." >&2
    exit 1
fi
echo "Python: installing python3-venv with apt-get"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
exec "$python" -m venv "$directory"
