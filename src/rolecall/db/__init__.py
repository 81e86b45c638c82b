"""Connections, migrations and the embedded server."""
