"""How queries are carried out: operators of the engine, and the planner that puts them together."""

__all__: list[str] = []
