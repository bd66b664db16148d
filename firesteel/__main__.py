"""``python -m firesteel``: the same as the command ``firesteel``."""

import sys

from firesteel.cli import main

sys.exit(main())
