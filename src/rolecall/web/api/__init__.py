"""The REST routes, one module a noun; static paths stand before those with an id."""
