"""How a program puts work into the pool and asks what became of it: one client, two faces."""
