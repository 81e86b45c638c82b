"""What is wrong with an image.

ImageError
├── ImageRefused      it will never be kept: no image, too large, an address that is not to be asked, not found
├── ImageUnavailable  it could not be had this time
└── ImageGone         it was kept, and its file is not what was kept any more
"""

from __future__ import annotations


class ImageError(Exception):
    """An image cannot be had; the text says why."""


class ImageRefused(ImageError):
    """Asking again gives the same."""


class ImageUnavailable(ImageError):
    """Asking again may help."""


class ImageGone(ImageError):
    """The kept file is missing or damaged."""
