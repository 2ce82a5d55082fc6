"""One FIITED table in many processes."""
