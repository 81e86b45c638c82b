"""Recognition and storage of images, and limits of their fetch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response, StreamingResponse
from storecrawl.egress import Egress
from storecrawl.images import Addresses, ImageClient, ImagePlace, ImageRefused, ImageStore, ImageUnavailable, suffix_of
from storecrawl.storage.locate import open_storage

PNG = b"\x89PNG\r\n\x1a\n"
PLACE = ImagePlace(
    state="AZ", store_id=7, store_name="Green & Co.", brand="Ünder/../Dog", product_id=12, product_name="OG <Kush>"
)


@pytest.mark.parametrize(
    ("start", "suffix"), [(b"\xff\xd8\xff", "jpg"), (PNG, "png"), (b"RIFF\0\0\0\0WEBP", "webp"), (b"GIF89a", "gif")]
)
def test_image_type_is_detected_from_its_bytes(start: bytes, suffix: str) -> None:
    assert suffix_of(start + bytes(60)) == suffix


@pytest.mark.parametrize(
    "content", [b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<html>", b"BM" + bytes(60), b"%PDF"]
)
def test_non_image_content_is_rejected(content: bytes) -> None:
    with pytest.raises(ImageRefused):
        suffix_of(content)


def test_image_tree_is_organized_by_state_store_brand_and_product() -> None:
    path = PLACE.path("ab" * 32, "png")

    assert path == "az/7-green-co/nder-dog/12-og-kush_abababababababab.png"


def test_image_is_stored_once_with_its_original_bytes(tmp_path: Path) -> None:
    storage = open_storage("", tmp_path, "images")
    store = ImageStore(storage)

    [path, again] = [store.write(PLACE, PNG, "png")[0] for _ in range(2)]

    assert path == again
    assert [each.path for each in storage.list()] == [path]
    assert (tmp_path / "images" / path).read_bytes() == PNG


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
