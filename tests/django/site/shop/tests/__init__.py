"""The promises of the app for Django, as a project's own tests see them."""
