"""What the app for Django promises, as a project's own tests see it."""
