"""Is it an image? Told by its first bytes and its header, within limits, before a single pixel is unpacked."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Final

from PIL import Image, UnidentifiedImageError

from storecrawl.images.errors import ImageRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLimits:
    """How large an image may be: bytes of its file, and pixels of its unpacked surface."""

    max_bytes: int = 10 * 1024 * 1024
    max_pixels: int = 40_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """What an image is: `kind` as Pillow calls it, sizes in pixels."""

    kind: str
    content_type: str
    suffix: str
    width: int
    height: int


KINDS: Final = {
    "JPEG": ("image/jpeg", "jpg"),
    "PNG": ("image/png", "png"),
    "WEBP": ("image/webp", "webp"),
    "GIF": ("image/gif", "gif"),
}


def inspect(content: bytes, limits: ImageLimits) -> ImageFacts:
    """Look at an image. Raises ImageRefused for anything but a JPEG, PNG, WebP or GIF within the limits."""
    if len(content) > limits.max_bytes:
        raise ImageRefused(f"it has more than {limits.max_bytes} bytes")
    kind = _kind_of(content)
    if kind is None:
        raise ImageRefused("it is no JPEG, PNG, WebP or GIF")
    width, height = _size(content, kind)
    if width * height > limits.max_pixels:
        raise ImageRefused(f"its {width} x {height} pixels are more than {limits.max_pixels}")
    content_type, suffix = KINDS[kind]
    return ImageFacts(kind=kind, content_type=content_type, suffix=suffix, width=width, height=height)


def _kind_of(content: bytes) -> str | None:
    """By the first bytes; what a server calls it counts for nothing."""
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
        raise ImageRefused("it has far more pixels than a picture of a product") from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        raise ImageRefused(f"it begins like a {kind}, and is none") from None
