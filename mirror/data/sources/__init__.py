"""The kinds of databases and files that can be asked."""
