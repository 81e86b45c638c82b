"""Values that operators see: in the dashboard, the API and the command line."""
