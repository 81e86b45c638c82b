"""Inspect an image by its first bytes and its header, within limits, and make smaller copies."""

from __future__ import annotations

import io
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from PIL import Image, ImageOps, UnidentifiedImageError

from storecrawl.images.errors import ImageGone, ImageRefused

KINDS: Final = {
    "JPEG": ("image/jpeg", "jpg"),
    "PNG": ("image/png", "png"),
    "WEBP": ("image/webp", "webp"),
    "GIF": ("image/gif", "gif"),
}
LARGEST = 2_000
QUALITY = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLimits:
    """The largest image: bytes of its file, and pixels when decoded."""

    max_bytes: int = 10 * 1024 * 1024
    max_pixels: int = 40_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """An image's properties: `kind` is Pillow's name, dimensions are in pixels."""

    kind: str
    content_type: str
    suffix: str
    width: int
    height: int


def inspect(content: bytes, limits: ImageLimits) -> ImageFacts:
    """Inspect an image. Raises ImageRefused unless it is a JPEG, PNG, WebP or GIF within the limits."""
    if len(content) > limits.max_bytes:
        raise ImageRefused(f"it has more than {limits.max_bytes} bytes")
    kind = _kind_of(content)
    if kind is None:
        raise ImageRefused("not a JPEG, PNG, WebP or GIF")
    width, height = _size(content, kind)
    if width * height > limits.max_pixels:
        raise ImageRefused(f"its {width} x {height} pixels are more than {limits.max_pixels}")
    content_type, suffix = KINDS[kind]
    return ImageFacts(kind=kind, content_type=content_type, suffix=suffix, width=width, height=height)


def _kind_of(content: bytes) -> str | None:
    """Return the kind by the first bytes; the server's content type is ignored."""
    if content.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    return "WEBP" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def _size(content: bytes, kind: str) -> tuple[int, int]:
    try:
        with Image.open(io.BytesIO(content), formats=[kind]) as image:
            return image.size
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ImageRefused("it has far more pixels than a product image") from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        raise ImageRefused(f"it starts like a {kind} but is not one") from None


class Fit(StrEnum):
    """How an image fits the requested size: whole, or cropped to fill it."""

    CONTAIN = "contain"
    COVER = "cover"


class Format(StrEnum):
    """The format of a resized image."""

    WEBP = "webp"
    JPEG = "jpeg"
    PNG = "png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendition:
    """The requested size in pixels (None for the original's) and format; an image is never enlarged."""

    width: int | None = None
    height: int | None = None
    fit: Fit = Fit.CONTAIN
    format: Format = Format.WEBP

    @property
    def content_type(self) -> str:
        return f"image/{self.format}"


def resize(content: bytes, rendition: Rendition, limits: ImageLimits) -> bytes:
    """Return an image's first frame in the requested size and format. Raises ImageGone if it cannot be decoded."""
    try:
        facts = inspect(content, limits)
        with Image.open(io.BytesIO(content), formats=[facts.kind]) as image:
            box = (rendition.width or LARGEST, rendition.height or LARGEST)
            image.draft("RGB", box)
            return _encode(_fit(ImageOps.exif_transpose(image), box, rendition.fit), rendition.format)
    except (ImageRefused, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ImageGone(f"it cannot be decoded ({type(error).__name__})") from error


def _fit(image: Image.Image, box: tuple[int, int], fit: Fit) -> Image.Image:
    plain = image.convert("RGBA" if image.has_transparency_data else "RGB")
    if fit is Fit.COVER:
        return ImageOps.fit(plain, (min(box[0], plain.width), min(box[1], plain.height)))
    plain.thumbnail(box)
    return plain


def _encode(image: Image.Image, form: Format) -> bytes:
    buffer = io.BytesIO()
    opaque = image.convert("RGB") if form is Format.JPEG else image
    opaque.save(buffer, form.upper(), quality=QUALITY)
    return buffer.getvalue()
