"""Jobs that are killed, again and again, and must not show it."""
