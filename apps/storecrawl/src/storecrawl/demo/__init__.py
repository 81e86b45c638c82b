"""The demonstration: a local upstream and everything that shows the crawler at work on it."""
