"""Question in, Answer out: the whole flow."""
