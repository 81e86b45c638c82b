"""Large results in a folder or a bucket, with a pointer in the task's row.

    large = LargeResults("s3://exports/results")     # or a folder that all workers and readers share
    app.use(large)                                   # for every handler: stores results over 64 KiB there

    result = await large.read(task.result)           # the result, wherever it is stored

An object is complete before its row commits. Its name contains the task and the claim, and it is never changed.
Rolecall does not delete objects: use a lifecycle rule of the bucket, or `find -mtime` in a folder. Objects of attempts
that later failed or lost their claim are removed in the same way. Buckets use the credentials in the AWS_* variables
and need `pip install 'rolecall[s3]'`.

`App("shop", large=LargeValues("s3://exports/large"))` stores large payload fields as well.
"""

from __future__ import annotations

from rolecall.results.folder import FolderStore
from rolecall.results.middleware import LargeResults
from rolecall.results.stores import ObjectStore, open_store
from rolecall.results.values import LargeValues

__all__ = ["FolderStore", "LargeResults", "LargeValues", "ObjectStore", "open_store"]
