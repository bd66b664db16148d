"""Record formats: how the bytes of one message become a Row, and back. One module for each format."""

__all__: list[str] = []
