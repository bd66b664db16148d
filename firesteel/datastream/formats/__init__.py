"""File formats, one module each, as PyFlink has them. Nothing is imported here."""

__all__: list[str] = []
