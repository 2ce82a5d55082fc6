"""A sweep file becomes trials. From outside: part, search, sweep."""
