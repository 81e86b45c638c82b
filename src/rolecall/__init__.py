"""Role-based background work on Postgres."""
