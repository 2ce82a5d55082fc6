"""What the page Ask asks about: the results, or files and databases of one's own, and what was opened.

From outside: opened, place.
"""
