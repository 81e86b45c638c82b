"""Gzip is decompressed exactly to its end, within limits, in time proportional to its size."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from random import Random

import pytest
from storecrawl.storage.gunzip import CHUNK, GzipBomb, GzipDamaged, GzipTooLarge, Limits, gunzip

from apps.storecrawl.tests.gzips import MEBIBYTE, empty_gzip, two_members

# Longer than a chunk, compressed and decompressed: shorter ones never failed.
DOCUMENT = bytes(Random(5).choices(b"abcdefgh", k=600_000))


def _gunzip(packed: bytes, limits: Limits | None = None, piece: int = CHUNK) -> bytes:
    return b"".join(gunzip(_cut(packed, piece), len(packed), limits or Limits()))


def _cut(packed: bytes, piece: int) -> Iterator[bytes]:
    return (packed[first : first + piece] for first in range(0, len(packed), piece))


@pytest.mark.parametrize("piece", [7, 4_096, CHUNK, MEBIBYTE])
@pytest.mark.parametrize("pack", [gzip.compress, two_members], ids=["one member", "two members"])
def test_document_is_decompressed_for_any_chunking(pack: object, piece: int) -> None:
    assert callable(pack)
    assert _gunzip(pack(DOCUMENT), piece=piece) == DOCUMENT


@pytest.mark.parametrize("tail", [b"\0", b"\0\0\0\0", b"\x1f", b"\x1f\x8b\x08", b"{}", b"\0" * 300_000])
def test_data_after_the_end_of_a_large_document_is_rejected(tail: bytes) -> None:
    """This used to loop forever."""
    with pytest.raises(GzipDamaged, match="there is data after its end"):
        _gunzip(gzip.compress(DOCUMENT) + tail)


@pytest.mark.parametrize("length", [0, 1, 9, 10, 300, 100_000])
def test_truncated_stream_is_rejected(length: int) -> None:
    with pytest.raises(GzipDamaged, match="incomplete"):
        _gunzip(gzip.compress(DOCUMENT)[:length])


def test_non_gzip_bytes_are_rejected() -> None:
    with pytest.raises(GzipDamaged, match="cannot be decompressed"):
        _gunzip(DOCUMENT)


def test_too_many_gzip_members_are_rejected() -> None:
    with pytest.raises(GzipDamaged, match="more than 1000 members"):
        _gunzip(gzip.compress(b"", mtime=0) * 1_001)


def test_output_beyond_the_byte_limit_is_rejected() -> None:
    with pytest.raises(GzipTooLarge, match="more than the limit of 100000 bytes"):
        _gunzip(gzip.compress(DOCUMENT), Limits(max_bytes=100_000))


def test_output_beyond_the_compression_ratio_is_rejected() -> None:
    with pytest.raises(GzipBomb, match="more than 200 times"):
        _gunzip(gzip.compress(bytes(MEBIBYTE)))


def test_time_for_an_empty_stream_grows_linearly_with_its_size() -> None:
    """Sixteen times the size takes less than forty times the time."""

    def seconds(megabytes: int) -> float:
        packed, began = empty_gzip(megabytes), time.process_time()
        with pytest.raises(GzipDamaged, match="incomplete"):
            _gunzip(packed)
        return time.process_time() - began

    short = min(seconds(1) for _ in range(3))
    assert seconds(16) < 40 * max(short, 0.001)
