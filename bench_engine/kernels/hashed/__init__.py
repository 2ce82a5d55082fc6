"""Hashed embeddings: a large virtual table in one small buffer."""
