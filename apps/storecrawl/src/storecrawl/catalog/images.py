"""Rows of product images: recorded when a product names one, and due until fetched or refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from psycopg.rows import class_row, dict_row, scalar_row

from storecrawl.catalog.errors import UnknownImage
from storecrawl.catalog.sql import IMAGES
from storecrawl.statements import Connection, execute, fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class DueImage:
    """An image to fetch; `path`, `sha256` and `etag` describe the stored copy, if there is one."""

    id: int
    url: str
    tries: int
    path: str | None
    sha256: str | None
    etag: str | None
    state: str | None
    store_id: int
    store_name: str
    brand: str | None
    product_id: int
    product_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImage:
    """A fetched image. Dimensions are in pixels, `size` is in bytes."""

    id: int
    path: str
    sha256: str
    content_type: str
    size: int
    width: int
    height: int


async def note_images(connection: Connection, store_id: int) -> bool:
    """Record the images of a store's products; return whether any image of the store is due."""
    [is_due] = await fetch(connection, IMAGES.note_images, {"store_id": store_id}, scalar_row)
    return bool(is_due)


async def due_images(connection: Connection, store_id: int, *, limit: int) -> list[DueImage]:
    """Return due images of a store, the longest waiting first."""
    return await fetch(connection, IMAGES.due_images, {"store_id": store_id, "limit": limit}, class_row(DueImage))


async def store_image(connection: Connection, image: StoredImage, *, etag: str | None, again: timedelta) -> None:
    """Record a fetched image; it is checked again later."""
    row = {field.name: getattr(image, field.name) for field in fields(image)}
    await execute(connection, IMAGES.store_image, {**row, "etag": etag, "again": again})


async def postpone_image(
    connection: Connection, image_id: int, *, tries: int, problem: str | None, again: timedelta | None
) -> None:
    """Record why nothing new was fetched, and when to try again; None means never."""
    parameters = {"id": image_id, "tries": tries, "problem": problem, "again": again}
    await execute(connection, IMAGES.postpone_image, parameters)


async def find_image(connection: Connection, image_id: int) -> StoredImage:
    """Return a stored image. Raises UnknownImage."""
    rows = await fetch(connection, IMAGES.image_by_id, {"image_id": image_id}, class_row(StoredImage))
    if not rows:
        raise UnknownImage(image_id)
    return rows[0]


async def images_of_products(connection: Connection, product_ids: Iterable[int]) -> dict[int, StoredImage]:
    """Return the stored images of products, by product id; products without an image are left out."""
    rows: list[dict[str, Any]] = await fetch(
        connection, IMAGES.images_of_products, {"product_ids": list(product_ids)}, dict_row
    )
    return {row.pop("product_id"): StoredImage(**row) for row in rows}


async def without_image(connection: Connection, paths: Sequence[str]) -> list[str]:
    """Return the paths that no image's row names."""
    return await fetch(connection, IMAGES.paths_without_image, {"paths": list(paths)}, scalar_row)
