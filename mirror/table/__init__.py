"""A result as data: rows, columns, and values as people read them."""
