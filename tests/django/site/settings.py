"""A project with Rolecall, as the tests of both Django releases have it; SITE_DATABASE says which Postgres."""

from __future__ import annotations

import os

import django
from psycopg.conninfo import conninfo_to_dict

SIX = django.VERSION >= (6, 0)
_POSTGRES = conninfo_to_dict(os.environ["SITE_DATABASE"])

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _POSTGRES["dbname"],
        "USER": _POSTGRES["user"],
        "PASSWORD": _POSTGRES.get("password", ""),
        "HOST": _POSTGRES["host"],
        "PORT": _POSTGRES["port"],
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "TEST": {"NAME": os.environ.get("SITE_TEST_DATABASE")},
    },
    "other": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
}
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "rolecall.django",
    "shop",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ROOT_URLCONF = "urls"
SECRET_KEY = "of a test"
STATIC_URL = "static/"
USE_TZ = True
ALLOWED_HOSTS = ["localhost", "testserver"]

ROLECALL: dict[str, object] = {"DASHBOARD": "https://work.example/queue/"}
if SIX:
    ROLECALL["MODULES"] = ["tasks", "shop.django_tasks"]
    TASKS = {"default": {"BACKEND": "rolecall.django.tasks.RolecallBackend", "QUEUES": ["default", "reports"]}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
