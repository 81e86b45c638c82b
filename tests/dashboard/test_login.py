"""People log in on a page, and are redirected to the page that they requested."""

from __future__ import annotations

import re

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall.model.operator.access import Scope
from rolecall.web.http.requests import own_address
from tests.sql.engine import Engine
from tests.web.doors import PASSWORD, SITE, Door, opened

OWN = {"origin": SITE, "referer": f"{SITE}/admin/workers?state=idle"}
FROM_A_CHAT = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


async def log_in(door: Door, next_: str | None = None, password: str = PASSWORD, **headers: str) -> httpx2.Response:
    fields = {"name": "ada", "password": password, **({} if next_ is None else {"next": next_})}
    return await door.client.post("/login", data=fields, headers={"origin": SITE, **headers})


async def test_anonymous_visitor_logs_in_and_is_redirected_to_the_requested_page(door: Door) -> None:
    await door.person()

    redirected = await door.client.get("/admin/workers?state=idle")
    form = await door.client.get(redirected.headers["location"])
    led = await log_in(door, re.findall(r'name="next" value="([^"]*)"', form.text)[0])

    assert redirected.status_code == 303
    assert (led.status_code, led.headers["location"]) == (303, "/admin/workers?state=idle")
    assert (await door.client.get("/admin/workers")).status_code == 200


async def test_wrong_password_is_reported_on_the_form(door: Door) -> None:
    await door.person()

    answer = await log_in(door, "/tasks", password="wrong")

    assert answer.status_code == 401
    assert "the name or the password is wrong" in answer.text
    assert 'value="/tasks"' in answer.text
    assert "wrong" not in answer.headers.get("set-cookie", "")


async def test_locked_out_person_sees_the_lock_duration(database: str, pool: Engine) -> None:
    async with opened(database, logins_per_minute=100) as door:
        await door.person()
        for _ in range(10):
            await log_in(door, password="wrong")

        answer = await log_in(door)

    assert answer.status_code == 429
    assert re.search(r"Try again in 1[45] min", answer.text)
    assert 800 < int(answer.headers["retry-after"]) <= 900


async def test_too_many_logins_are_reported_on_the_form(database: str, pool: Engine) -> None:
    async with opened(database, logins_per_minute=1) as door:
        for _ in range(2):
            await log_in(door)

        answer = await log_in(door)

    assert answer.status_code == 429
    assert re.search(r"Try again in \d+ s|Try again in 1 min", answer.text)


async def test_another_sites_page_cannot_log_anybody_in(door: Door) -> None:
    await door.person()

    assert (await log_in(door, origin="https://elsewhere.example")).status_code == 403


async def test_expired_session_is_reported_on_the_login_page(door: Door, pool: Engine) -> None:
    await door.person()
    await log_in(door)
    pool.rows("update rolecall.sessions set expires_at = now() - interval '1 s'")

    redirected = await door.client.get("/admin/workers")

    assert redirected.headers["location"] == "/login?next=/admin/workers"
    assert "Your session has ended." in (await door.client.get(redirected.headers["location"])).text


async def test_form_sent_with_an_expired_session_changes_nothing_and_links_back(door: Door, pool: Engine) -> None:
    worker = pool.worker("sums")
    await door.person()
    await log_in(door)
    pool.rows("update rolecall.sessions set expires_at = now() - interval '1 s'")

    sent = await door.client.post(f"/admin/workers/{worker}/drain", headers=OWN)
    form = (await door.client.get(sent.headers["location"])).text

    assert "nothing was changed" in form
    assert 'value="/admin/workers?state=idle"' in form
    assert pool.value("select command from rolecall.workers") is None


@pytest.mark.parametrize("loss", ["the session ends", "the cookie is lost"])
async def test_fragment_refresh_without_a_session_names_the_login(door: Door, pool: Engine, loss: str) -> None:
    await door.person()
    await log_in(door)
    if loss == "the session ends":
        pool.rows("update rolecall.sessions set expires_at = now() - interval '1 s'")
    else:
        door.client.cookies.clear()

    answer = await door.client.get("/admin/workers", headers={"hx-request": "true"})

    assert (answer.status_code, answer.text) == (401, "/login?next=/admin/workers")


async def test_link_from_another_site_is_reloaded_once_to_send_the_cookie(door: Door) -> None:
    step = await door.client.get("/admin/workers?state=idle", headers=FROM_A_CHAT)

    assert step.status_code == 200
    assert '<meta http-equiv="refresh" content="0; url=/admin/workers?state=idle">' in step.text
    assert "set-cookie" not in step.headers


@pytest.mark.parametrize(
    "headers",
    [FROM_A_CHAT | {"sec-fetch-site": "same-origin"}, FROM_A_CHAT | {"sec-fetch-dest": "iframe"}, {}],
)
async def test_extra_reload_happens_only_once(door: Door, headers: dict[str, str]) -> None:
    answer = await door.client.get("/admin/workers", headers=headers)

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login")


async def test_local_caller_has_no_logout_button(pool: Engine, http: httpx2.AsyncClient) -> None:
    page = await http.get("/", headers={"cookie": "rolecall=rs_of_another_server"})

    assert "Log out" not in page.text


async def test_person_can_end_a_session(door: Door) -> None:
    await door.person(scope=Scope.READ)
    await log_in(door)
    assert "Log out" in (await door.client.get("/")).text

    await door.client.post("/logout", headers=OWN)

    assert (await door.client.get("/")).status_code == 303


NASTY = st.text(alphabet=st.sampled_from("/\\:@.?#%&;ex \t\r\n\x00\x0b") | st.characters(), max_size=12)


@given(
    root=st.sampled_from(["", "/queue"]),
    start=st.sampled_from(["", "/", "//", "/\\", "\\", "https:", "javascript:", "/\t", " ", "/queue", "/queue/"]),
    rest=NASTY,
)
def test_next_parameter_never_leads_to_another_host(root: str, start: str, rest: str) -> None:
    where = own_address(root, start + rest)

    # As browsers read it: spaces at the ends and tabs are removed, and a backslash is a slash.
    read = re.sub(r"[\t\r\n]", "", where.strip("".join(map(chr, range(33))))).replace("\\", "/")
    assert re.match(rf"{root}/(?!/)", read)


@pytest.mark.parametrize("wanted", ["/", "/tasks", "/tasks?state=failed&text=a%20b", "/tasks/7#log"])
def test_next_parameter_can_lead_to_any_dashboard_page(wanted: str) -> None:
    assert own_address("", wanted) == wanted


@pytest.mark.parametrize(
    ("current", "again", "sentence"),
    [
        (PASSWORD, "a new password", "Your password has changed."),
        (PASSWORD, "a newer password", "The new passwords differ."),
        ("a wrong password", "a new password", "The current password is wrong."),
    ],
)
async def test_person_changes_their_password_on_the_page_of_sessions(
    door: Door, current: str, again: str, sentence: str
) -> None:
    await door.person()
    await log_in(door)
    form = (await door.client.get("/sessions")).text
    fields = {"current": current, "new": "a new password", "again": again}

    answer = await door.client.post("/password", data=fields, headers={"origin": SITE})
    page = await door.client.get(answer.headers["location"])

    assert 'action="/password"' in form
    assert sentence in page.text
