"""Benchmarks. ``make bench`` runs them all; ``python -m bench --help`` says what else there is."""
