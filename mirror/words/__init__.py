"""Words as data: the catalogue of what the results hold, and what people call it. From outside: every module."""
