"""The same program on each Python of this machine: every public name, each kind of handler, and a tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.pythons import python

__all__ = ["python"]

PROGRAM = """
from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from enum import StrEnum

import rolecall
from rolecall import App, Client, Context, Worker, WorkerOptions

names = [getattr(rolecall, name) for name in rolecall.__all__]
app = App("shop")
app.schedule("nightly", "add", cron="30 4 * * *", zone="Europe/Berlin", payload={"a": 1, "b": 2})


class Size(StrEnum):
    small = "small"


@dataclass(frozen=True)
class Parcel:
    number: int
    size: Size | None = None


@app.task
async def pack(ctx: Context, parcel: Parcel) -> Parcel:
    return Parcel(parcel.number, Size.small)


@app.task
def add(a: int, b: int) -> int:
    return a + b


@app.task(process=True)
def square(number: int) -> int:
    return number * number


async def total(ctx: Context, numbers: list[int]) -> int:
    return sum(child.result for child in await ctx.children(square))


@app.task(gather=total)
async def squares(ctx: Context, numbers: list[int]) -> None:
    ctx.spawn(*(square.task(number=number) for number in numbers))


def main() -> None:
    with Client(sys.argv[1], app=app) as client:
        tasks = [
            client.enqueue(pack, parcel=Parcel(7)),
            client.enqueue(add, a=1, b=2),
            client.enqueue(squares, numbers=[1, 2, 3]),
        ]
        asyncio.run(Worker(app, sys.argv[1], WorkerOptions(until_idle=True)).run())
        print([client.get(task).result for task in tasks])


if __name__ == "__main__":
    main()
"""


def test_program_runs_on_each_python(python: Path, database: str, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(PROGRAM)

    command = [str(python), "-W", "error", "shop.py", database]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[Parcel(number=7, size=<Size.small: 'small'>), 3, 14]"
