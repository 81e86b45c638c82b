"""The app as `rolecall worker` loads it: `--app tests.scenarios.chaos.program:app`."""

from __future__ import annotations

import os

from tests.scenarios.chaos.workload import VERSION, make_app

app = make_app(int(os.environ[VERSION]))
