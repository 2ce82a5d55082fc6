"""What the back ends have in common: the compiler and what it keeps, candidates, and measuring them."""
