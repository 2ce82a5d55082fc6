"""Times calls, and says what the timings allow to be said. From outside: every module."""
