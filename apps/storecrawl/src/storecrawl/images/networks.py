"""Which addresses the whole world may ask, by a list of our own.

Python's `is_global` is another list at each patch level. This one holds what IANA keeps for special purposes, whether
it calls it reachable or not, and what clouds put into the world's own space for their machines alone.
"""

from __future__ import annotations

import ipaddress
from typing import Final

__all__ = ["Address", "Network", "is_the_worlds"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Of the new kind only this is given out. So it is neither ::a.b.c.d, 64:ff9b::/96, 64:ff9b:1::/48 (they carry one of
# the old kind), nor 100::/64, 5f00::/16, fc00::/7, fe80::/10, fec0::/10, ff00::/8.
GIVEN_OUT: Final = ipaddress.ip_network("2000::/3")
SPECIAL: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",
            "100.64.0.0/10",  # between a provider and its customers; metadata of a cloud, too
            "127.0.0.0/8",
            "168.63.129.16/32",  # the inner service of a cloud's machines
            "169.254.0.0/16",  # metadata of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",  # protocols; metadata of a cloud, too
            "192.0.2.0/24",  # examples
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",  # to 6to4
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # examples
            "203.0.113.0/24",  # examples
            "224.0.0.0/4",  # to many
            "240.0.0.0/4",
            "2001::/23",  # protocols, Teredo among them
            "2001:db8::/32",  # examples
            "2002::/16",  # 6to4: an address of the old kind
            "2620:4f:8000::/48",
            "3fff::/20",  # examples
        ),
    )
)


def is_the_worlds(address: Address) -> bool:
    """Whether an address is one of the public Internet's, for one receiver."""
    if isinstance(address, ipaddress.IPv6Address) and address not in GIVEN_OUT:
        return False
    return not any(address in network for network in SPECIAL)
