"""Tables that ship and are made once, from packages that carry what others have trained.

From outside: text_base, vectors.
"""
