"""Who sends a request: tokens, logins, passwords and sessions."""
