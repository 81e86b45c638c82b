"""Handlers in processes of their own, which can be killed whatever they do: `pool` starts them and minds each
with a thread, `messages` is what worker and process say to each other, `child` is what runs in the process,
and `context` is what a handler is given there.
"""
