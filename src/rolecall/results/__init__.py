"""Large results in a folder or a bucket, with a pointer to them in the task's row.

    large = LargeResults("s3://exports/results")     # or a folder that all workers and readers share
    app.use(large)                                   # around every handler: what it returns over 64 KiB is kept there

    result = await large.read(task.result)           # the result itself, wherever it is kept

An object is whole before the row that points to it commits. It is named by the task and the claim, is never changed,
and is forgotten by its store, not by us: by a lifecycle rule of the bucket, by `find -mtime` in a folder. What an
attempt leaves behind that then fails or loses its claim goes the same way. Credentials of a bucket are those of the
AWS_* variables; `pip install 'rolecall[s3]'` brings what speaks to it.

`App("shop", large=LargeValues("s3://exports/large"))` keeps large fields of payloads so, beside large results.
"""

from __future__ import annotations

from rolecall.results.folder import FolderStore
from rolecall.results.middleware import LargeResults
from rolecall.results.stores import ObjectStore, open_store
from rolecall.results.values import LargeValues

__all__ = ["FolderStore", "LargeResults", "LargeValues", "ObjectStore", "open_store"]
