"""The ways to Mirror: the command line and the pages. In a notebook an answer shows itself (mirror.answer).

From outside: command; rooms below say their own.
"""
