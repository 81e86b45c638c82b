"""Images are fetched only from public addresses, including redirects and rebound names."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import httpx2
import pytest
from starlette.responses import RedirectResponse, Response
from storecrawl.egress import Egress
from storecrawl.images import Addresses, ImageClient, ImageRefused

PRIVATE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.1", "224.0.0.1",
    "255.255.255.255", "192.0.2.1", "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::",
    # Addresses that some patch level of Python considers public.
    "64:ff9b:1::a00:1", "192.0.0.192", "192.0.0.9", "fec0::1", "::10.0.0.1", "::a00:1", "168.63.129.16", "192.88.99.1",
    "5f00::1", "3fff::1", "3fff:fff::1", "100.100.100.200", "198.18.0.1", "240.0.0.1", "2001::1", "2001:1::1",
    "2001:db8::1", "100::1", "4000::1", "::ffff:168.63.129.16", "::ffff:192.0.0.192",
]  # fmt: skip
PUBLIC = [
    "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "168.63.129.17", "192.0.1.1", "192.88.98.1", "100.63.255.1",
    "100.128.0.1", "172.32.0.1", "223.255.255.1", "2a00:1450::1", "3ffe::1", "2001:200::1", "2003::1",
]  # fmt: skip


class Names:
    """A name server whose answers change with each query."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.requests: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.requests.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.mark.parametrize("address", PRIVATE)
async def test_non_public_address_is_rejected(address: str) -> None:
    with pytest.raises(ImageRefused, match="not public"):
        await Addresses(look_up=Names([address])).check(httpx2.URL("http://pictures.test/a.png"))


@pytest.mark.parametrize("address", PUBLIC)
async def test_host_name_is_replaced_by_its_checked_public_address(address: str) -> None:
    place = await Addresses(look_up=Names([address])).check(httpx2.URL("https://pictures.test/a.png?x=1"))

    assert (place.url.host, place.url.path) == (address, "/a.png")
    assert (place.headers, place.extensions) == ({"Host": "pictures.test"}, {"sni_hostname": "pictures.test"})


@pytest.mark.parametrize(("address", "refused"), [(PRIVATE[0], True), (PUBLIC[0], False)])
async def test_public_addresses_do_not_depend_on_pythons_own_list(
    monkeypatch: pytest.MonkeyPatch, address: str, refused: bool
) -> None:
    for kind in (ipaddress.IPv4Address, ipaddress.IPv6Address):
        for word in ("is_global", "is_private", "is_multicast", "is_reserved", "is_link_local", "is_loopback"):
            monkeypatch.setattr(kind, word, property(lambda _: refused))

    with pytest.raises(ImageRefused) if refused else nullcontext():
        await Addresses(look_up=Names([address])).check(httpx2.URL("http://pictures.test/a.png"))


async def test_name_with_one_non_public_address_is_rejected() -> None:
    with pytest.raises(ImageRefused):
        await Addresses(look_up=Names([*PUBLIC, "10.0.0.1"])).check(httpx2.URL("http://pictures.test/a.png"))


@pytest.mark.parametrize(
    "url", ["http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://[::1]/", "http://localhost/"]
)
async def test_this_machine_is_rejected_under_all_its_names(url: str, egress: Egress) -> None:
    with pytest.raises(ImageRefused):
        await ImageClient(egress, Addresses(), max_bytes=100).fetch(url)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "gopher://a/", "ftp://a/", "http:///a", "http://a@169.254.169.254/"]
)
async def test_url_other_than_plain_http_is_rejected(url: str, egress: Egress) -> None:
    with pytest.raises(ImageRefused):
        await ImageClient(egress, Addresses(), max_bytes=100).fetch(url)


async def test_only_web_ports_are_allowed() -> None:
    with pytest.raises(ImageRefused, match="port 6379"):
        await Addresses(look_up=Names([PUBLIC[0]])).check(httpx2.URL("http://pictures.test:6379/"))


async def test_request_goes_to_the_address_that_was_checked(site: Any, egress: Egress) -> None:
    """A name that resolves to another address a moment later (rebinding) does not lead there."""
    site.answers["/a.png"] = Response(b"x")
    names = Names(["127.0.0.1"], ["10.9.9.9"])
    client = ImageClient(egress, Addresses(["127.0.0.1/32"], look_up=names), max_bytes=100)

    answer = await client.fetch(f"http://pictures.test:{site.port}/a.png")

    assert answer == b"x"
    assert site.requests[0].headers["host"] == f"pictures.test:{site.port}"
    assert names.requests == ["pictures.test"]


async def test_redirect_target_is_checked_too(site: Any, egress: Egress) -> None:
    site.answers["/a.png"] = RedirectResponse("http://metadata.test/latest/meta-data")
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    client = ImageClient(egress, Addresses(["127.0.0.1/32"], look_up=names), max_bytes=100)

    with pytest.raises(ImageRefused, match="not public"):
        await client.fetch(f"http://pictures.test:{site.port}/a.png")


async def test_number_of_redirects_is_limited(site: Any, egress: Egress) -> None:
    site.answers["/a.png"] = RedirectResponse("/a.png")
    client = ImageClient(egress, Addresses(["127.0.0.1/32"]), max_bytes=100)

    with pytest.raises(ImageRefused, match="redirects"):
        await client.fetch(f"{site.url}/a.png")
    assert len(site.requests) == 4


async def test_this_machine_is_contacted_only_if_allowed(site: Any, egress: Egress) -> None:
    with pytest.raises(ImageRefused, match="not public"):
        await ImageClient(egress, Addresses(), max_bytes=100).fetch(f"{site.url}/a.png")
    assert site.requests == []
