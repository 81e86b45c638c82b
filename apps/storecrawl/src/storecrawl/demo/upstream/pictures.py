"""The local upstream's product images: a few shapes and colors that depend on a name, drawn on first use."""

from __future__ import annotations

import hashlib
import io
from functools import lru_cache

from PIL import Image, ImageDraw

SIZE = 160
VARIETY = 8


def picture_name(kind: str, brand: int) -> str:
    """Return the name of the image that products of a category and a brand share."""
    return f"{kind}-{brand % VARIETY}.png"


@lru_cache(maxsize=1_000)
def picture(name: str) -> bytes:
    """Draw the image of a name, the same each time."""
    digest = hashlib.blake2b(name.encode()).digest()
    image = Image.new("RGB", (SIZE, SIZE), _colour(digest[0:3], 160))
    draw = ImageDraw.Draw(image)
    draw.ellipse((20, 20, 140, 140), fill=_colour(digest[3:6], 90))
    for number in range(3):
        x, y = 30 + digest[6 + number] % 70, 30 + digest[9 + number] % 70
        draw.rectangle((x, y, x + 30, y + 30), fill=_colour(digest[12 + number : 15 + number], 60))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _colour(chance: bytes, least: int) -> tuple[int, int, int]:
    red, green, blue = (least + each % (256 - least) for each in chance)
    return red, green, blue
