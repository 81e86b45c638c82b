"""Orders, and what follows from them."""
