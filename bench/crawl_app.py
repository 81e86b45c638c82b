"""The crawler as the benchmark's workers run it: unchanged, with a sampling thread."""

from __future__ import annotations

import os
from pathlib import Path

from storecrawl.app import build_app
from storecrawl.settings import CrawlSettings

from bench.crawl_sampler import FOLDER, start_sampling

app = build_app(CrawlSettings.from_environment())

if folder := os.environ.get(FOLDER):
    start_sampling(Path(folder))
