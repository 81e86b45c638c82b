"""Computes the checksums of all files below a folder in background tasks, and combines them at the end."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from rolecall import App, Client, Context, TaskState

app = App("checksums")


@app.task(process=True, timeout=600, max_attempts=2)
def checksum(path: str) -> str:
    """Compute one checksum, in a process of its own because it uses a whole core."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def put_together(ctx: Context, folder: str) -> dict[str, str]:
    """Combine the results of all files. Files that could not be read are omitted."""
    children = await ctx.children(checksum)
    return {child.payload["path"]: child.result for child in children if child.state is TaskState.COMPLETED}


@app.task(gather=put_together)
def checksums(ctx: Context, folder: str) -> None:
    """Spawn a task for each file."""
    files = [str(path) for path in sorted(Path(folder).rglob("*")) if path.is_file()]
    ctx.spawn(*(checksum.task(path=path).options(on_failure="ignore") for path in files))


def main(folder: str) -> None:
    """Enqueue the task, wait for it and print the checksums."""
    with Client(app=app) as client:
        task = client.wait(client.enqueue(checksums, folder=str(Path(folder).resolve())))
        for path, digest in sorted(task.result.items()):
            print(f"{digest}  {path}")


if __name__ == "__main__":
    main(sys.argv[1])
