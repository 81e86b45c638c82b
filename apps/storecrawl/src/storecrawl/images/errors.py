"""Errors of images.

ImageError
├── ImageRefused      never usable: not an image, too large, a forbidden address, not found
└── ImageUnavailable  could not be fetched this time
"""

from __future__ import annotations


class ImageError(Exception):
    """An image is not available; the text says why."""


class ImageRefused(ImageError):
    """A retry has the same result."""


class ImageUnavailable(ImageError):
    """A retry may help."""
