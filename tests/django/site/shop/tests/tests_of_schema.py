"""`manage.py migrate` creates the schema, and no command of Django's removes it."""

from __future__ import annotations

from io import StringIO

from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.exceptions import IrreversibleError
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test import SimpleTestCase

from rolecall.db.migrations import ROLECALL
from rolecall.django import client
from rolecall.django.models import Task
from shop.tasks import send_receipt

GONE = "drop function rolecall.delete_task(bigint)"
THERE = "select count(*) from pg_proc where proname = 'delete_task'"


class Schema(SimpleTestCase):
    """These tests commit, because the migrator has its own connection."""

    databases = frozenset({"default"})

    def has_function(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute(THERE)
            return bool(cursor.fetchone()[0])

    def drop_function(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(GONE)
        self.addCleanup(migrate)

    def test_latest_schema_step_of_the_release_has_a_django_migration(self) -> None:
        loader = MigrationLoader(None)
        [last] = loader.graph.leaf_nodes("rolecall")
        steps = [each.step for each in loader.graph.nodes[last].operations if hasattr(each, "step")]

        self.assertEqual(steps, [ROLECALL.read().numbered[-1].label])

    def test_models_and_migrations_agree(self) -> None:
        self.assertIn("No changes detected", output_of("makemigrations", "--check", "--dry-run"))

    def test_migration_plan_describes_the_schema_change(self) -> None:
        MigrationRecorder(connection).record_unapplied("rolecall", "0001_schema")
        self.addCleanup(migrate)

        self.assertIn("Bring Rolecall's schema to 00", output_of("migrate", "--plan"))
        with self.assertRaises(SystemExit):
            output_of("migrate", "--check")

    def test_up_to_date_database_has_no_migrations_to_apply(self) -> None:
        self.assertIn("No migrations to apply", output_of("migrate"))

    def test_script_of_the_migration_contains_the_whole_schema(self) -> None:
        self.assertIn("create table rolecall.tasks", output_of("sqlmigrate", "rolecall", "0001"))

    def test_schema_migration_is_irreversible_and_tasks_are_kept(self) -> None:
        stored = client.enqueue(send_receipt, order_id=1)
        self.addCleanup(client.delete_chains, stored.id)

        with self.assertRaisesMessage(IrreversibleError, "it may contain tasks"):
            output_of("migrate", "rolecall", "zero")
        self.assertTrue(Task.objects.filter(pk=stored.id).exists())

    def test_outdated_function_is_reported_and_replaced(self) -> None:
        self.drop_function()

        [problem] = [each for each in run_checks(databases=["default"]) if each.id == "rolecall.W001"]
        self.assertIn("functions", problem.msg)
        output_of("migrate")
        self.assertTrue(self.has_function())

    def test_database_without_migrations_has_the_schema_too(self) -> None:
        self.drop_function()

        with self.settings(MIGRATION_MODULES={"rolecall": None, "shop": None}):
            output_of("migrate", "--run-syncdb")

        self.assertTrue(self.has_function())

    def test_project_that_has_not_migrated_this_app_is_not_changed(self) -> None:
        self.drop_function()
        MigrationRecorder(connection).record_unapplied("rolecall", "0001_schema")

        output_of("migrate", "shop")

        self.assertFalse(self.has_function())

    def test_flush_does_not_delete_tasks(self) -> None:
        stored = client.enqueue(send_receipt, order_id=1)
        self.addCleanup(client.delete_chains, stored.id)

        output_of("flush", "--no-input")

        self.assertTrue(Task.objects.filter(pk=stored.id).exists())


class OtherDatabase(SimpleTestCase):
    """A database without the pool."""

    databases = frozenset({"default", "other"})

    def test_other_database_is_not_changed_and_its_migrations_are_reversible(self) -> None:
        output_of("migrate", "rolecall", "zero", "--database", "other")
        output_of("migrate", "rolecall", "--database", "other")

        self.assertEqual(connections["other"].introspection.table_names(include_views=True).count("all_tasks"), 0)


def output_of(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def migrate() -> None:
    call_command("migrate", verbosity=0)
