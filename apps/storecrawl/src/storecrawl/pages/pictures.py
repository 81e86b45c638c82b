"""Product images on a page: their addresses, and their sizes, so that the page does not move when they load."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rolecall.web import Connects
from storecrawl.catalog import StoredImage, images_of_products

# The size in pixels of the square for an image on a product's page, and in a list.
LARGE, SMALL = 240, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An image on a page: its address, at twice the resolution, and its size in pixels."""

    path: str
    width: int
    height: int

    @classmethod
    def scaled(cls, image: StoredImage, box: int) -> Picture:
        scale = min(box / image.width, box / image.height, 1.0)
        return cls(
            path=f"/api/images/{image.id}?w={2 * box}&h={2 * box}&format=webp",
            width=max(round(image.width * scale), 1),
            height=max(round(image.height * scale), 1),
        )

    @classmethod
    def cropped(cls, image: StoredImage, box: int) -> Picture:
        path = f"/api/images/{image.id}?w={2 * box}&h={2 * box}&fit=cover&format=webp"
        return cls(path=path, width=box, height=box)


async def pictures_of(connects: Connects, product_ids: Iterable[int], *, box: int) -> dict[int, Picture]:
    """Return the pictures of products, by product; products without an image are left out."""
    async with connects() as connection:
        images = await images_of_products(connection, product_ids)
    return {product_id: Picture.cropped(image, box) for product_id, image in images.items()}
