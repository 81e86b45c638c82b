"""Rolecall's tables and views as read-only Django models."""

from __future__ import annotations

from typing import Any

from django.db import models

from rolecall.django.connections import database_alias
from rolecall.model.states import TaskState

# Django leaves a name that is already quoted as it is, so that this one can contain the schema.
TABLE = '"rolecall"."{}"'
READ_ONLY = "these rows are read-only: use rolecall.django.client or `manage.py rolecall`"


class ReadOnlyQuerySet(models.QuerySet):
    """Read-only rows."""

    def create(self, **_fields: object) -> Any:
        raise TypeError(READ_ONLY)

    def bulk_create(self, *_rows: object, **_options: object) -> Any:
        raise TypeError(READ_ONLY)

    def update(self, **_fields: object) -> int:
        raise TypeError(READ_ONLY)

    def delete(self) -> Any:
        raise TypeError(READ_ONLY)


class ReadOnlyManager(models.Manager):
    """Reads from Rolecall's database."""

    def get_queryset(self) -> Any:
        return ReadOnlyQuerySet(self.model, using=database_alias())


class ReadOnlyModel(models.Model):
    """A read-only row."""

    objects = ReadOnlyManager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.pk)

    def save(self, *_words: object, **_options: object) -> None:
        raise TypeError(READ_ONLY)

    def delete(self, *_words: object, **_options: object) -> Any:
        raise TypeError(READ_ONLY)


class Task(ReadOnlyModel):
    """A task, open or finished.

        Task.objects.filter(role="mail", state="failed").count()

    A row of `rolecall.all_tasks`.
    """

    id = models.BigIntegerField(primary_key=True)
    state = models.TextField(choices=[(state.value, state.value) for state in TaskState])
    status = models.TextField()
    role = models.TextField()
    handler = models.TextField()
    priority = models.IntegerField()
    key = models.TextField(null=True)
    dedupe_key = models.TextField(null=True)
    attempt = models.IntegerField()
    max_attempts = models.IntegerField(null=True)
    worker_id = models.BigIntegerField(null=True)
    chain_id = models.BigIntegerField()
    parent_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()
    scheduled_for = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    payload = models.JSONField()
    result = models.JSONField(null=True)
    info = models.JSONField(null=True)
    error = models.TextField(null=True)

    class Meta:
        managed = False
        db_table = TABLE.format("all_tasks")
        default_permissions = ("view",)
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.handler} {self.id}"


class Schedule(ReadOnlyModel):
    """A schedule."""

    id = models.BigIntegerField(primary_key=True)
    name = models.TextField()
    role = models.TextField()
    handler = models.TextField()
    every = models.DurationField(null=True)
    cron = models.TextField(null=True)
    zone = models.TextField()
    enabled = models.BooleanField()
    priority = models.IntegerField()
    payload = models.JSONField()
    next_run_at = models.DateTimeField()
    last_run_at = models.DateTimeField(null=True)
    last_task_id = models.BigIntegerField(null=True)
    last_error = models.TextField(null=True)

    class Meta:
        managed = False
        db_table = TABLE.format("schedules")
        default_permissions = ("view",)
        ordering = ("name",)

    def __str__(self) -> str:
        return str(self.name)


class Worker(ReadOnlyModel):
    """A worker: a row of `rolecall.all_workers`."""

    id = models.BigIntegerField(primary_key=True)
    name = models.TextField()
    state = models.TextField()
    slots = models.IntegerField()
    held = models.IntegerField()
    host = models.TextField(null=True)
    pid = models.IntegerField(null=True)
    version = models.TextField(null=True)
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = TABLE.format("all_workers")
        default_permissions = ("view",)
        ordering = ("-heartbeat_at",)

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"
