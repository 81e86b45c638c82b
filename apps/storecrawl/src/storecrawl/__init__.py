"""A store-menu crawler that runs on Rolecall."""
