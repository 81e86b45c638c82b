"""The demo: a local upstream, and everything that shows the crawler working on it."""
