"""Recognize an image's format by its first bytes; the server's content type is ignored."""

from __future__ import annotations

from storecrawl.images.errors import ImageRefused


def suffix_of(content: bytes) -> str:
    """Return the file name suffix: jpg, png, webp or gif. Raises ImageRefused for anything else."""
    if content.startswith(b"\xff\xd8\xff"):
        return "jpg"
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    raise ImageRefused("not a JPEG, PNG, WebP or GIF")
