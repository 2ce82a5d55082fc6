"""What the engine can say of itself: its overhead, and how far its verdicts can be trusted.

From outside: the names here, every module.
"""


class SelfCheckError(RuntimeError):
    """A check could not be made; the message says why."""
