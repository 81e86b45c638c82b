"""The App of Django's own tests."""

from __future__ import annotations

from rolecall import App

# A backend of Django's makes one attempt.
app = App("own")
app.role("default", max_attempts=1)
