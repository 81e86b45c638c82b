"""The most frequent requests for tasks under the name that other systems use: /api/jobs."""

from __future__ import annotations

from rolecall.web.api.task_actions import trigger_task
from rolecall.web.api.tasks import get_task, list_tasks
from rolecall.web.fields.aliases import MARK
from rolecall.web.fields.views import ShownTask
from rolecall.web.http.problems import refuses
from rolecall.web.http.requests import UNCHANGED
from rolecall.web.routers import api_router

router = api_router(prefix="/api/jobs", tags=["tasks"])
router.add_api_route("", list_tasks, openapi_extra={MARK: True})
router.add_api_route("/{task_id:int}", get_task, response_model=ShownTask, responses=UNCHANGED)
router.add_api_route("/{task_id:int}/trigger", trigger_task, methods=["POST"], responses=refuses(409))
