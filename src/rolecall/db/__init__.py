"""Connections, migrator and the embedded server: all that touches the database."""
