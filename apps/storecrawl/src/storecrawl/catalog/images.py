"""Rows of product images: recorded when a product names one, and due until fetched or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.sql import IMAGES
from storecrawl.statements import Connection, execute, fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class DueImage:
    """An image to fetch, with the store and product after which its file is named."""

    id: int
    url: str
    tries: int
    state: str | None
    store_id: int
    store_name: str
    brand: str | None
    product_id: int
    product_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImage:
    """The copy of a fetched image; `size` is in bytes."""

    id: int
    path: str
    sha256: str
    size: int


async def note_images(connection: Connection, store_id: int) -> bool:
    """Record the images of a store's products; return whether any image of the store is due."""
    [is_due] = await fetch(connection, IMAGES.note_images, {"store_id": store_id}, scalar_row)
    return bool(is_due)


async def due_images(connection: Connection, store_id: int, *, limit: int) -> list[DueImage]:
    """Return due images of a store, the longest waiting first."""
    return await fetch(connection, IMAGES.due_images, {"store_id": store_id, "limit": limit}, class_row(DueImage))


async def store_image(connection: Connection, image: StoredImage) -> None:
    """Record a fetched image. It is never fetched again."""
    await execute(connection, IMAGES.store_image, asdict(image))


async def postpone_image(
    connection: Connection, image_id: int, *, tries: int, problem: str, again: timedelta | None
) -> None:
    """Record why an image was not fetched, and when to try again; None means never."""
    parameters = {"id": image_id, "tries": tries, "problem": problem, "again": again}
    await execute(connection, IMAGES.postpone_image, parameters)


async def without_image(connection: Connection, paths: Sequence[str]) -> list[str]:
    """Return the paths that no image's row names."""
    return await fetch(connection, IMAGES.paths_without_image, {"paths": list(paths)}, scalar_row)
