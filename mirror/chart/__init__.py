"""Which chart shows a result, and of which columns."""
