"""The form of a question about other people's data, and its SQL."""
