"""Tasks of Django's in a module that no worker imports."""

from __future__ import annotations

from django.tasks import task

from rolecall.django.tasks import name_of as short_name

__all__ = ["a_task_with_a_name_that_is_longer_than_the_name_of_a_handler_may_be", "lost", "short_name"]


@task
def lost() -> None:
    """Be done by nobody."""


@task
def a_task_with_a_name_that_is_longer_than_the_name_of_a_handler_may_be() -> None:
    """Be done by nobody, either."""
