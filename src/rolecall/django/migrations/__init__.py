"""Django migrations that apply Rolecall's own; see `rolecall.django.schema`."""
