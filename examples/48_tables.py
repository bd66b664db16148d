"""Tables and SQL: what each shop sells, kept up to date while orders come.

Run it: python examples/48_tables.py
"""

from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.expressions import col, lit

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")

orders = t_env.from_elements(
    [("north", "tea", 3), ("south", "ink", 5), ("north", "ink", 4), ("south", "tea", 1)], ["shop", "item", "amount"]
)

# The same query twice: as SQL, and as calls.
t_env.create_temporary_view("orders", orders)
t_env.execute_sql("SELECT shop, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY shop").print()

large = orders.where(col("amount") > lit(2)).group_by(col("item")).select(col("item"), col("amount").max.alias("most"))
for row in large.execute().collect():
    print(row.get_row_kind(), tuple(row))

# Output
# +----+--------------------------------+----------------------+----------------------+
# | op |                           shop |                    n |                total |
# +----+--------------------------------+----------------------+----------------------+
# | +I |                          north |                    1 |                    3 |
# | +I |                          south |                    1 |                    5 |
# | -U |                          north |                    1 |                    3 |
# | +U |                          north |                    2 |                    7 |
# | -U |                          south |                    1 |                    5 |
# | +U |                          south |                    2 |                    6 |
# +----+--------------------------------+----------------------+----------------------+
# 6 rows in set
# +I ('tea', 3)
# +I ('ink', 5)
