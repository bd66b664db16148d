"""Records as columns: batches of Arrow arrays, and operators that work on them without making a record of any.

A column batch travels the same edges as a row batch. An operator says in which format it wants its input
(``Operator.takes``) and gives its output (``Operator.gives``); batches are turned around only between operators that
differ. ::

    from functools import partial
    from firesteel.runtime.columns import AggregateColumns, FilterColumns, Total

    rides = env.from_dataframe(df)
    long_rides = rides.transform("Long", None, partial(FilterColumns, lambda rides: pc.greater(rides["km"], 10)))
    per_taxi = long_rides.key_by("taxi").transform("Per Taxi", None, partial(AggregateColumns, [Total.sum("km")]))
"""

from firesteel.runtime.columns.aggregate import AggregateColumns, Total
from firesteel.runtime.columns.batch import ColumnBatch
from firesteel.runtime.columns.operators import ColumnOperator, FilterColumns, KeyedColumnOperator, MapColumns

__all__ = [
    "AggregateColumns",
    "ColumnBatch",
    "ColumnOperator",
    "FilterColumns",
    "KeyedColumnOperator",
    "MapColumns",
    "Total",
]
