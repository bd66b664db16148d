"""One program per engine, each run in a process and a virtual environment of its own.

They import the standard library, their engine and the plain modules of this package, nothing else.
"""
