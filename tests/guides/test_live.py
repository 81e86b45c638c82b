"""The guide `live` follows a real server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.service.access import ensure_token
from rolecall.sql import roles
from rolecall.web import build
from tests.guides.reading import module_of
from tests.service.live.watching import enqueue
from tests.web.streaming import LONG, served


async def test_client_of_the_guide_receives_events(database: str, tmp_path: Path) -> None:
    follow = module_of("live").follow
    token = ensure_token(tmp_path / "local-token")
    application = build(database, App("test"), Settings(access=AccessSettings(auth=AuthMode.token, token=token)))
    async with served(application) as site, await connect_async(database, "other") as sql:
        await run_async(sql, roles.declare([{"name": "sums"}], [{"name": "add", "role": "sums"}]))
        result = follow(str(site.client.base_url).rstrip("/"), token)
        async with asyncio.timeout(LONG):
            first = await asyncio.to_thread(next, result)
            [task_id] = await enqueue(sql)
            later = [await asyncio.to_thread(next, result) for _ in ("task_changed", "role_changed")]
        await asyncio.to_thread(result.close)

    assert first[:2] == ("connected", {})
    # A look at the roles may come between the commit and the look at the tasks.
    events = {name: data for name, data, _ in later}
    assert (events["task_changed"]["id"], events["task_changed"]["state"]) == (task_id, "pending")
    assert (events["role_changed"]["role"], events["role_changed"]["ready"]) == ("sums", 1)
