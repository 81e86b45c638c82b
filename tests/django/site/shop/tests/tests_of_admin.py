"""Read-only admin pages for users with permission."""

from __future__ import annotations

from django.contrib.auth.models import Permission, User
from django.test import TestCase

from rolecall.django import client
from rolecall.testing.django import run_tasks
from shop.tasks import log_in, refuse, send_receipt

LIST = "/admin/rolecall/task/"


class Admin(TestCase):
    """Somebody who may view tasks, and nothing else."""

    @classmethod
    def setUpTestData(cls) -> None:
        cls.viewer = User.objects.create_user("ada", password="secret", is_staff=True)
        cls.viewer.user_permissions.set(Permission.objects.filter(content_type__app_label="rolecall"))
        cls.mail = client.enqueue(send_receipt.using(key="customer:7"), order_id=7).id
        cls.other = client.enqueue(refuse).id

    def setUp(self) -> None:
        self.client.force_login(self.viewer)

    def listed(self, **query: object) -> list[int]:
        answer = self.client.get(LIST, query)
        self.assertEqual(answer.status_code, 200)
        return sorted(task.id for task in answer.context["cl"].result_list)

    def test_all_tasks_are_listed(self) -> None:
        self.assertEqual(self.listed(), [self.mail, self.other])

    def test_tasks_can_be_filtered_by_state_role_and_handler(self) -> None:
        self.assertEqual(self.listed(handler="refuse"), [self.other])
        self.assertEqual(self.listed(role="mail"), [self.mail, self.other])
        self.assertEqual(self.listed(state="failed"), [])
        self.assertEqual(self.listed(state="pending"), [self.mail, self.other])

    def test_unknown_state_filter_matches_nothing(self) -> None:
        self.assertEqual(self.listed(state="nonsense"), [])

    def test_filters_list_known_handlers_and_states(self) -> None:
        page = self.client.get(LIST)

        self.assertContains(page, "?handler=send_receipt")
        self.assertContains(page, "?state=failed")

    def test_tasks_can_be_searched_by_id_and_by_key(self) -> None:
        self.assertEqual(self.listed(q=self.other), [self.other])
        self.assertEqual(self.listed(q="customer:7"), [self.mail])
        self.assertEqual(self.listed(q="9" * 30), [])
        self.assertEqual(self.listed(q="\0"), [])

    def test_task_page_shows_its_payload_and_links_to_the_dashboard(self) -> None:
        page = self.client.get(f"{LIST}{self.mail}/change/")

        self.assertContains(page, "&quot;order_id&quot;: 7")
        self.assertContains(page, f'href="https://work.example/queue/tasks/{self.mail}"')
        self.assertNotContains(page, 'name="_save"')

    def test_link_is_omitted_without_a_dashboard_url(self) -> None:
        with self.settings(ROLECALL={}):
            self.assertNotContains(self.client.get(f"{LIST}{self.mail}/change/"), "dashboard page")

    def test_markup_in_a_payload_is_escaped(self) -> None:
        task = client.enqueue(send_receipt.using(key="<b>"), order_id=1)

        self.assertContains(self.client.get(f"{LIST}{task.id}/change/"), "&lt;b&gt;")

    def test_redacted_values_are_not_shown(self) -> None:
        task = client.enqueue(log_in, password="hunter2")
        run_tasks(raising=False)

        page = self.client.get(f"{LIST}{task.id}/change/")

        self.assertContains(page, "[redacted]", count=2)
        self.assertNotContains(page, "hunter2")

    def test_tasks_cannot_be_added_changed_or_deleted(self) -> None:
        self.client.force_login(User.objects.create_superuser("root"))
        for path in ("add/", f"{self.mail}/delete/"):
            self.assertEqual(self.client.get(f"{LIST}{path}").status_code, 403)
        self.assertEqual(self.client.post(f"{LIST}{self.mail}/change/", {"role": "x"}).status_code, 403)

    def test_user_without_the_view_permission_sees_nothing(self) -> None:
        self.client.force_login(User.objects.create_user("eve", is_staff=True))

        self.assertEqual(self.client.get(LIST).status_code, 403)

    def test_schedules_and_workers_have_pages(self) -> None:
        for model in ("schedule", "worker"):
            self.assertEqual(self.client.get(f"/admin/rolecall/{model}/").status_code, 200)

    def test_only_view_permissions_exist(self) -> None:
        names = Permission.objects.filter(content_type__app_label="rolecall").values_list("codename", flat=True)

        self.assertEqual(sorted(names), ["view_schedule", "view_task", "view_worker"])
