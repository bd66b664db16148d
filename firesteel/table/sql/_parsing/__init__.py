"""The parser, one class upon the other: words, types, literals, expressions, queries, definitions, statements."""
