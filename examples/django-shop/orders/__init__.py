"""Orders, invoices and their background tasks."""
