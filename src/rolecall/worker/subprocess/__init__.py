"""Handlers in child processes, which can be killed at any time.

`pool` starts the processes, `messages` are exchanged with them, `child` runs in them, and `context` is what their
handlers get.
"""
