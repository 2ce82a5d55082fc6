"""A second, independent reader: a small network that turns a question and a linked schema into a query by itself."""
