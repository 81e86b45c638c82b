"""The images of products on a page: where to ask for them, and how much room they take, told before they are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rolecall.web import Connects
from storecrawl.catalog import KeptImage, images_of_products

__all__ = ["LARGE", "SMALL", "Picture", "pictures_of"]

# Pixels of the square that an image has on a product's page, and in a list.
LARGE, SMALL = 240, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An image as a page shows it: its address, twice as fine as the room it takes, and that room in pixels."""

    path: str
    width: int
    height: int

    @classmethod
    def within(cls, image: KeptImage, box: int) -> Picture:
        """Show it whole in a square."""
        scale = min(box / image.width, box / image.height, 1.0)
        return cls(
            path=f"/api/images/{image.id}?w={2 * box}&h={2 * box}&format=webp",
            width=max(round(image.width * scale), 1),
            height=max(round(image.height * scale), 1),
        )

    @classmethod
    def filling(cls, image: KeptImage, box: int) -> Picture:
        """Fill a square with it, for lines that should be equally high."""
        path = f"/api/images/{image.id}?w={2 * box}&h={2 * box}&fit=cover&format=webp"
        return cls(path=path, width=box, height=box)


async def pictures_of(connects: Connects, product_ids: Iterable[int], *, box: int) -> dict[int, Picture]:
    """The pictures of products in a list, by product; what has none is not there."""
    async with connects() as connection:
        images = await images_of_products(connection, product_ids)
    return {product_id: Picture.filling(image, box) for product_id, image in images.items()}
