"""Words -> QuerySpec. Two front ends, the embedded grammar and a language model, and what both share."""

from mirror.query.errors import Ambiguity, Refusal

__all__ = ["Ambiguity", "Refusal"]
