"""Stored text is escaped on every page, in a real browser."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.hostile import HOSTILE, attacked, furnish_hostile
from tests.sql.engine import Engine
from tests.web.matrix import read_table

TABLE = read_table(Path(__file__).parents[1] / "routes.txt")
PATHS = [entry.path for entry in TABLE if entry.method == "GET" and not entry.path.startswith("/assets/")]
# Pages without text from users.
QUIET = {
    "/",
    "/capacity",
    "/enter",
    "/errors",
    "/login",
    "/schedules/explain",
    "/schedules/new",
    "/sessions",
    "/suggestions/places",
    "/suggestions/query",
    "/tasks/bulk",
    "/tasks/{task_id:int}/complete",
    "/tasks/{task_id:int}/fail",
    "/tasks/{task_id:int}/token",
}


async def test_untrusted_text_never_becomes_markup(pool: Engine, visit: Visit) -> None:
    scenery = furnish_hostile(pool)
    page = await visit("/login")

    more = [
        f"/keys?key={quote(HOSTILE)}",
        f"/tasks/{scenery.failed_id}",
        f"/tasks/{scenery.parent_id}",
        f"/tasks/{scenery.parent_id}/tree",
    ]

    shown = await attacked(page, [*map(scenery.path, PATHS), *more])

    loud = [scenery.path(path) for path in PATHS if path not in QUIET]
    assert [path for path in [*loud, *more] if not shown[path]] == []


async def test_url_parameters_never_become_markup(pool: Engine, visit: Visit) -> None:
    attack = quote(HOSTILE)
    page = await visit("/login")

    await attacked(
        page,
        [
            f"/login?next={attack}",
            f"/enter?next={attack}",
            f"/admin/workers?roles={attack}&state={attack}",
            f"/changes?actor={attack}&kind={attack}&thing={attack}",
            f"/tasks?text={attack}&key={attack}",
            f"/chains?handler={attack}",
            f"/keys?key={attack}",
            f"/suggestions/places?text={attack}",
            f"/suggestions/query?text=key:{attack}",
        ],
    )
