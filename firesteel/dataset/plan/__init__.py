"""What a DataSet program becomes: a graph of nodes, and how each of them is carried out."""

__all__: list[str] = []
