"""Makes an image smaller, and of another format, for who looks at it. Blocks: unpacking takes time."""

from __future__ import annotations

import io
from dataclasses import dataclass
from enum import StrEnum

from PIL import Image, ImageOps

from storecrawl.images.errors import ImageGone, ImageRefused
from storecrawl.images.inspecting import ImageLimits, inspect

LARGEST = 2_000
QUALITY = 80


class Fit(StrEnum):
    """How an image comes into the wanted size: whole, or filling it with its edges cut off."""

    CONTAIN = "contain"
    COVER = "cover"


class Format(StrEnum):
    """What a resized image is written as."""

    WEBP = "webp"
    JPEG = "jpeg"
    PNG = "png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The wanted size in pixels, None for as it comes, and the format; an image is never made larger."""

    width: int | None = None
    height: int | None = None
    fit: Fit = Fit.CONTAIN
    format: Format = Format.WEBP

    @property
    def content_type(self) -> str:
        """What the result is."""
        return f"image/{self.format}"


def resized(content: bytes, wanted: Wanted, limits: ImageLimits) -> bytes:
    """Write an image's first frame as it is wanted. Raises ImageGone for one that cannot be unpacked."""
    try:
        facts = inspect(content, limits)
        with Image.open(io.BytesIO(content), formats=[facts.kind]) as image:
            box = (wanted.width or LARGEST, wanted.height or LARGEST)
            image.draft("RGB", box)
            return _written(_fitted(ImageOps.exif_transpose(image), box, wanted.fit), wanted.format)
    except (ImageRefused, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ImageGone(f"it cannot be unpacked ({type(error).__name__})") from error


def _fitted(image: Image.Image, box: tuple[int, int], fit: Fit) -> Image.Image:
    plain = image.convert("RGBA" if image.has_transparency_data else "RGB")
    if fit is Fit.COVER:
        return ImageOps.fit(plain, (min(box[0], plain.width), min(box[1], plain.height)))
    plain.thumbnail(box)
    return plain


def _written(image: Image.Image, form: Format) -> bytes:
    buffer = io.BytesIO()
    opaque = image.convert("RGB") if form is Format.JPEG else image
    opaque.save(buffer, form.upper(), quality=QUALITY)
    return buffer.getvalue()
