"""A shop: orders come in over HTTP, and what follows from them runs in the background."""
