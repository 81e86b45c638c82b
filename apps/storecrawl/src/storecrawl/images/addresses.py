"""Allowed addresses of images: a name is resolved once, all of its addresses are checked, and one of them is called.

The connection goes to the checked address, never to the name, so that a changed DNS entry cannot lead
elsewhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import httpx2

from storecrawl.images.errors import ImageRefused, ImageUnavailable

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
SCHEMES: Final = {"http": 80, "https": 443}
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# The only allocated range of IPv6. It excludes ::a.b.c.d, 64:ff9b::/96 and 64:ff9b:1::/48 (they contain an
# IPv4 address) as well as 100::/64, 5f00::/16, fc00::/7, fe80::/10, fec0::/10 and ff00::/8.
GIVEN_OUT: Final = ipaddress.ip_network("2000::/3")
SPECIAL: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",
            "100.64.0.0/10",  # between providers and customers; also metadata of a cloud
            "127.0.0.0/8",
            "168.63.129.16/32",  # internal service of a cloud's machines
            "169.254.0.0/16",  # metadata of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",  # protocols; also metadata of a cloud
            "192.0.2.0/24",  # examples
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # examples
            "203.0.113.0/24",  # examples
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",
            "2001::/23",  # protocols, including Teredo
            "2001:db8::/32",  # examples
            "2002::/16",  # 6to4, which contains an IPv4 address
            "2620:4f:8000::/48",
            "3fff::/20",  # examples
        ),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAddress:
    """An allowed address: `url` contains it instead of the name, which is in `host`."""

    url: httpx2.URL
    host: str
    headers: dict[str, str]
    extensions: dict[str, str]


async def resolve(host: str, port: int) -> Sequence[str]:
    """Resolve a name. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


class Addresses:
    """Allows public addresses at the usual ports, and all of the given networks."""

    def __init__(self, allowed: Sequence[str] = (), *, look_up: Resolve = resolve) -> None:
        self._allowed = [ipaddress.ip_network(each) for each in allowed]
        self._look_up = look_up

    async def check(self, url: httpx2.URL) -> CheckedAddress:
        """Check where a URL leads. Raises ImageRefused, or ImageUnavailable if the name cannot be resolved now."""
        if url.scheme not in SCHEMES or not url.host or url.userinfo:
            raise ImageRefused("its address is not a plain http or https address")
        port = url.port or SCHEMES[url.scheme]
        address = await self._address(url.host, port)
        literal = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004 - of the protocol
        name = f"[{url.host}]" if ":" in url.host else url.host
        return CheckedAddress(
            url=url.copy_with(host=literal),
            host=url.host,
            headers={"Host": name if url.port is None else f"{name}:{url.port}"},
            extensions={"sni_hostname": url.host} if url.scheme == "https" else {},
        )

    async def _address(self, host: str, port: int) -> Address:
        try:
            texts = await self._look_up(host, port)
        except (OSError, UnicodeError) as error:
            raise ImageUnavailable("its host name cannot be resolved") from error
        addresses = sorted({ipaddress.ip_address(text.partition("%")[0]) for text in texts}, key=_old_kind_first)
        if not addresses:
            raise ImageUnavailable("its host name cannot be resolved")
        for address in addresses:
            self._judge(address, port)
        return addresses[0]

    def _judge(self, address: Address, port: int) -> None:
        effective = address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
        if any(effective in network for network in self._allowed):
            return
        if not is_public(effective):
            raise ImageRefused("its address is not public")
        if port not in SCHEMES.values():
            raise ImageRefused(f"port {port} is not allowed")


def _old_kind_first(address: Address) -> tuple[int, int]:
    return address.version, int(address)


def is_public(address: Address) -> bool:
    """Return whether an address is a public unicast address."""
    if isinstance(address, ipaddress.IPv6Address) and address not in GIVEN_OUT:
        return False
    return not any(address in network for network in SPECIAL)
