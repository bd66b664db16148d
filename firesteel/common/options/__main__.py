"""Prints the options as a Markdown page."""

import sys

from firesteel.common.options.page import render_page

sys.stdout.write(render_page())
