"""A module of the program lookups.py, which workers import by name."""

from pyflink.common import Row
from pyflink.datastream import MapFunction


class Parse(MapFunction):
    def map(self, value):
        name, _, number = value.partition("=")
        return name, int(number)


def to_row(pair):
    return Row(*pair)
