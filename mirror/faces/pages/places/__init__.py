"""What the page Ask asks about: the results, or files and databases of one's own; what was opened, and found there.

From outside: found_view, opened, place.
"""
