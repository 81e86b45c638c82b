"""Identifies the sender of a request: tokens, logins, passwords and sessions."""
