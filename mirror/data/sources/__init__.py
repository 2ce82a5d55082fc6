"""The kinds of databases and files that can be asked. From outside: facts, kind, location, open_reader, reader."""
