"""Checksums of all files below a folder, computed in the background, and put together when the last one is known."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from rolecall import App, Client, Context, TaskState

app = App("checksums")


@app.task(process=True, timeout=600, max_attempts=2)
def checksum(path: str) -> str:
    """Compute one; in a process of its own, as it takes a processor for itself."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def put_together(ctx: Context, folder: str) -> dict[str, str]:
    """Collect what is known when the last file has been read; what could not be read is left out."""
    children = await ctx.children(checksum)
    return {child.payload["path"]: child.result for child in children if child.state is TaskState.COMPLETED}


@app.task(gather=put_together)
def checksums(ctx: Context, folder: str) -> None:
    """Give each file to a task of its own."""
    files = [str(path) for path in sorted(Path(folder).rglob("*")) if path.is_file()]
    ctx.spawn(*(checksum.task(path=path).options(on_failure="ignore") for path in files))


def main(folder: str) -> None:
    """Ask for the checksums, and print them when they are there."""
    with Client(app=app) as client:
        task = client.wait(client.enqueue(checksums, folder=str(Path(folder).resolve())))
        for path, digest in sorted(task.result.items()):
            print(f"{digest}  {path}")


if __name__ == "__main__":
    main(sys.argv[1])
