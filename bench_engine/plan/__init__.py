"""What a sweep still has to do, and how that is shown. From outside: every module."""
