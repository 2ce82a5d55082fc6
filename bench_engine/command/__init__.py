"""The engine's command line: its arguments, what each command does, and doctor. From outside: build, cli."""
