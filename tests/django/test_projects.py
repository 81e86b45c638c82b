"""Tests of a Django project, run from `site/shop/tests` as in a project."""

from __future__ import annotations

from tests.django.conftest import Project


def test_tests_of_a_django_project_pass(project: Project) -> None:
    done = project.run("-W", "error::DeprecationWarning:rolecall", "manage.py", "test", "--noinput")

    assert done.returncode == 0, done.stderr
