"""Seeded clicks with a planted truth, to judge what an embedding keeps. From outside: every module."""
