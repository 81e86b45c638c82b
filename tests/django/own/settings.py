"""The settings for Django's own tests of its tasks; `tasks` is their package in Django's source."""

from __future__ import annotations

import os

from psycopg.conninfo import conninfo_to_dict

_POSTGRES = conninfo_to_dict(os.environ["SITE_DATABASE"])

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _POSTGRES["dbname"],
        "USER": _POSTGRES["user"],
        "PASSWORD": _POSTGRES.get("password", ""),
        "HOST": _POSTGRES["host"],
        "PORT": _POSTGRES["port"],
        "TEST": {"NAME": os.environ.get("SITE_TEST_DATABASE")},
    }
}
INSTALLED_APPS = ["django.contrib.contenttypes", "rolecall.django", "tasks"]
SECRET_KEY = "of a test"
# As in Django's own runs.
USE_TZ = False
TASKS = {"default": {"BACKEND": "rolecall.django.tasks.RolecallBackend"}}
ROLECALL = {"APP": "backends.app"}
