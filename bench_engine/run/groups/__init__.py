"""Groups of trials that take turns, and the records that come of them. From outside: every module."""
