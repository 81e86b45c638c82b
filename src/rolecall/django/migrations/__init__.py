"""Migrations of Django's for this app; what they bring is ours, see `rolecall.django.schema`."""
