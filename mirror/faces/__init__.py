"""The ways to Mirror: the command line, notebooks, pages."""
