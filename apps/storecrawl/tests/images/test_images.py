"""Recognition, storage and resizing of images."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.responses import Response, StreamingResponse
from storecrawl.egress import Egress
from storecrawl.images import (
    Addresses,
    Fit,
    Format,
    ImageClient,
    ImageGone,
    ImageLimits,
    ImagePlace,
    ImageRefused,
    ImageStore,
    ImageUnavailable,
    Rendition,
    inspect,
    resize,
)
from storecrawl.storage.locate import open_storage

LIMITS = ImageLimits()
PLACE = ImagePlace(
    state="AZ", store_id=7, store_name="Green & Co.", brand="Ünder/../Dog", product_id=12, product_name="OG <Kush>"
)


def _bomb(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(bytes(1_000)))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


@pytest.mark.parametrize(("kind", "suffix"), [("JPEG", "jpg"), ("PNG", "png"), ("WEBP", "webp"), ("GIF", "gif")])
def test_image_type_is_detected_from_its_bytes(picture: Callable[..., bytes], kind: str, suffix: str) -> None:
    facts = inspect(picture(kind), LIMITS)

    assert (facts.kind, facts.suffix, facts.width, facts.height) == (kind, suffix, 60, 40)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<html>",
        b"BM" + bytes(60),
        b"\xff\xd8\xffno",
        b"GIF89a",
        b"%PDF",
    ],
)
def test_non_image_content_is_rejected(content: bytes) -> None:
    """No SVG, no HTML, nothing that only starts like an image."""
    with pytest.raises(ImageRefused):
        inspect(content, LIMITS)


@pytest.mark.parametrize("size", [(7_000, 7_000), (20_000, 20_000), (50_000, 50_000)])
def test_decompression_bomb_is_rejected_before_it_is_decompressed(size: tuple[int, int]) -> None:
    with pytest.raises(ImageRefused, match="pixels"):
        inspect(_bomb(*size), LIMITS)


def test_too_many_bytes_are_rejected(picture: Callable[..., bytes]) -> None:
    with pytest.raises(ImageRefused, match="10 bytes"):
        inspect(picture(), ImageLimits(max_bytes=10))


def test_image_tree_is_organized_by_state_store_brand_and_product() -> None:
    path = PLACE.path("ab" * 32, "png")

    assert path == "az/7-green-co/nder-dog/12-og-kush_abababababababab.png"


@pytest.mark.parametrize("bucket", [False, True])
def test_image_is_stored_once_and_can_be_read(
    tmp_path: Path, picture: Callable[..., bytes], bucket: bool, request: pytest.FixtureRequest
) -> None:
    storage = open_storage(request.getfixturevalue("bucket_url") if bucket else "", tmp_path, "images")
    store, content = ImageStore(storage), picture()

    stored_files = [store.write(PLACE, content, "png") for _ in range(2)]

    assert stored_files[0] == stored_files[1]
    assert [each.path for each in storage.list()] == [stored_files[0][0]]
    assert store.read(*stored_files[0]) == content


def test_damaged_or_missing_image_is_reported(tmp_path: Path, picture: Callable[..., bytes]) -> None:
    store = ImageStore(open_storage("", tmp_path, "images"))
    path, sha256 = store.write(PLACE, picture(), "png")
    (tmp_path / "images" / path).write_bytes(b"other")

    with pytest.raises(ImageGone, match="checksum"):
        store.read(path, sha256)
    (tmp_path / "images" / path).unlink()
    with pytest.raises(ImageGone):
        store.read(path, sha256)


@pytest.mark.parametrize(
    ("wanted", "size"),
    [
        (Rendition(width=30), (30, 20)),
        (Rendition(width=30, height=10), (15, 10)),
        (Rendition(width=20, height=20, fit=Fit.COVER), (20, 20)),
        (Rendition(width=2_000, height=2_000), (60, 40)),
        (Rendition(format=Format.JPEG), (60, 40)),
    ],
)
def test_image_is_scaled_down_and_never_up(
    picture: Callable[..., bytes], wanted: Rendition, size: tuple[int, int]
) -> None:
    with Image.open(io.BytesIO(resize(picture(), wanted, LIMITS))) as image:
        assert (image.size, image.format) == (size, wanted.format.upper())


def test_truncated_image_cannot_be_resized(picture: Callable[..., bytes]) -> None:
    with pytest.raises(ImageGone):
        resize(picture(size=(400, 400))[:200], Rendition(width=10), LIMITS)


@pytest.mark.parametrize(
    ("status", "error"), [(404, ImageRefused), (410, ImageRefused), (403, ImageUnavailable), (503, ImageUnavailable)]
)
async def test_rejection_is_permanent_and_failure_is_temporary(
    site: Any, egress: Egress, status: int, error: type[Exception]
) -> None:
    site.answers["/a.png"] = Response(status_code=status)

    with pytest.raises(error, match=str(status)):
        await ImageClient(egress, Addresses(["127.0.0.1/32"]), max_bytes=100).fetch(f"{site.url}/a.png")


async def test_endless_response_is_abandoned_at_the_limit(site: Any, egress: Egress) -> None:
    site.answers["/a.png"] = StreamingResponse(bytes(1_000) for _ in range(10_000))

    with pytest.raises(ImageRefused, match="5000 bytes"):
        await ImageClient(egress, Addresses(["127.0.0.1/32"]), max_bytes=5_000).fetch(f"{site.url}/a.png")


async def test_unchanged_image_is_not_sent_again(site: Any, egress: Egress) -> None:
    site.answers["/a.png"] = Response(status_code=304, headers={"ETag": '"1"'})
    client = ImageClient(egress, Addresses(["127.0.0.1/32"]), max_bytes=100)

    answer = await client.fetch(f"{site.url}/a.png", etag='"1"')

    assert answer.content is None
    assert site.requests[0].headers["if-none-match"] == '"1"'
