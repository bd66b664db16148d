"""All families of functions; importing them fills the catalogue."""

from __future__ import annotations

from firesteel.table.functions import (
    aggregates,
    arithmetic,
    bitmaps,
    casting,
    collections,
    comparison,
    conditional,
    json_functions,
    strings,
    temporal,
    window_functions,
)

__all__ = ["FAMILIES"]

FAMILIES = {
    "comparison and logic": comparison,
    "arithmetic": arithmetic,
    "texts and hashes": strings,
    "dates and times": temporal,
    "conditions and types": conditional,
    "casts": casting,
    "arrays, maps and rows": collections,
    "JSON and variants": json_functions,
    "aggregates": aggregates,
    "bitmaps": bitmaps,
    "windows": window_functions,
}
