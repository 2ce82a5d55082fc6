"""The form of a question about other data, and its SQL."""
