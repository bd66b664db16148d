"""Rewrite tests/architecture/pyflink_missing.json: the names of PyFlink that Firesteel does not have yet."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.architecture import api_parity


def main() -> None:
    lacking = api_parity.missing(api_parity.load(api_parity.NAMES))
    api_parity.MISSING.write_text(api_parity.dump(lacking), encoding="utf-8")
    count = sum(len(members) for entries in lacking.values() for members in entries.values())
    print(f"{count} missing names or members written to {api_parity.MISSING.name}")


if __name__ == "__main__":
    main()
