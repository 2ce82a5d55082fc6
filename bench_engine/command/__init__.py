"""The engine's command line: its arguments, what each command does, and doctor; and `bench` for Python and notebooks.

From outside: build, cli, notebook.
"""
