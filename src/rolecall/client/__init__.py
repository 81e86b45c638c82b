"""The clients, with which programs enqueue tasks and read their state: Client and AsyncClient."""
