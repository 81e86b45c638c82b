"""Invalid settings are reported immediately; the database follows the Django settings."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections
from django.test import SimpleTestCase, TestCase
from psycopg.conninfo import conninfo_to_dict

from rolecall.django.connections import database_alias, database_dsn
from rolecall.django.management.commands.rolecall import APP, filled_in
from rolecall.django.project import program


class Settings(SimpleTestCase):
    """The setting ROLECALL."""

    def test_unknown_setting_is_rejected(self) -> None:
        with (
            self.settings(ROLECALL={"DATABSE": "default"}),
            self.assertRaisesMessage(ImproperlyConfigured, "'DATABSE'; did you mean 'DATABASE'?"),
        ):
            database_alias()

    def test_apps_can_be_installed_by_a_test(self) -> None:
        with self.modify_settings(INSTALLED_APPS={"append": "django.contrib.sites"}):
            self.assertIn("send_receipt", program.handlers)

    def test_missing_database_alias_is_rejected(self) -> None:
        with (
            self.settings(ROLECALL={"DATABASE": "tasks"}),
            self.assertRaisesMessage(ImproperlyConfigured, "'tasks', which is not in DATABASES"),
        ):
            database_alias()

    def test_database_other_than_postgres_is_rejected(self) -> None:
        with (
            self.settings(ROLECALL={"DATABASE": "other"}),
            self.assertRaisesMessage(ImproperlyConfigured, "DATABASES['other'] is SQLite"),
        ):
            database_alias()

    def test_pool_uses_the_database_of_the_django_connection(self) -> None:
        output = conninfo_to_dict(database_dsn())

        self.assertEqual(output["dbname"], connections["default"].settings_dict["NAME"])
        self.assertEqual(output["user"], connections["default"].settings_dict["USER"])

    def test_server_options_are_passed_on_and_django_options_are_not(self) -> None:
        options = {
            "assume_role": "crew",
            "options": "-c search_path=shop",
            "pool": True,
            "server_side_binding": True,
            "sslmode": "require",
        }
        before = connections["default"].settings_dict["OPTIONS"]
        connections["default"].settings_dict["OPTIONS"] = options
        try:
            output = conninfo_to_dict(database_dsn())
        finally:
            connections["default"].settings_dict["OPTIONS"] = before

        self.assertEqual((output["options"], output["sslmode"]), ("-c search_path=shop -c role=crew", "require"))
        self.assertNotIn("pool", output)


class Words(SimpleTestCase):
    """`manage.py rolecall ...`."""

    def test_command_that_accepts_an_app_gets_that_of_the_project(self) -> None:
        self.assertEqual(filled_in(["worker", "--slots", "2"]), ["worker", "--app", APP, "--slots", "2"])
        self.assertEqual(filled_in(["doctor"]), ["doctor", "--app", APP])

    def test_explicit_app_is_kept(self) -> None:
        self.assertEqual(filled_in(["worker", "--app=shop:app"]), ["worker", "--app=shop:app"])

    def test_other_commands_are_not_changed(self) -> None:
        for words in (["tasks", "list"], ["--help"], ["nonsense", "worker"], []):
            self.assertEqual(filled_in(words), words)


class Connections(TestCase):
    """A thread of a worker."""

    def test_session_lost_since_the_last_attempt_does_not_fail_the_next(self) -> None:
        with ThreadPoolExecutor(1) as thread:
            session = program.handlers["session"].function
            first = thread.submit(session).result()
            with connection.cursor() as cursor:
                cursor.execute("select pg_terminate_backend(%s, 5000)", [first])
            second = thread.submit(session).result()
            thread.submit(connections.close_all).result()

        self.assertNotEqual(first, second)

    def test_session_is_kept_between_attempts_like_between_django_requests(self) -> None:
        with ThreadPoolExecutor(1) as thread:
            sessions = [thread.submit(program.handlers["session"].function).result() for _ in range(2)]
            thread.submit(connections.close_all).result()

        self.assertEqual(len(set(sessions)), 1)
