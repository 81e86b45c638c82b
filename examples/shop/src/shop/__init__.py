"""A shop: orders arrive over HTTP, and are billed and confirmed in the background."""
