"""Opens the socket of the API before anything else is started.

From then on, clients can connect and wait, even while the serving process is restarted.
"""

from __future__ import annotations

import socket
from ipaddress import ip_address

from rolecall.config import HttpSettings
from rolecall.model.errors import ConfigError

USUAL_PORT = 8321
ANY_PORT = 0
WAITING = 1_024


def listen(http: HttpSettings) -> socket.socket:
    """Open the socket. Raises ConfigError if the address cannot be bound."""
    if http.port is not None:
        return _open(http.host, http.port)
    try:
        return _open(http.host, USUAL_PORT)
    except ConfigError:
        return _open(http.host, ANY_PORT)


def adopt(descriptor: int) -> socket.socket:
    """Take over a socket opened by the parent process. Raises ConfigError if the descriptor is not a socket."""
    try:
        return socket.socket(fileno=descriptor)
    except OSError as error:
        raise ConfigError(f"is not an open socket: {error.strerror}", variable="--fd", value=descriptor) from None


def url_of(listener: socket.socket) -> str:
    """Return the socket's URL for clients on this machine."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_private(listener: socket.socket) -> bool:
    """Return whether only this machine can reach the socket."""
    return ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def _open(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return _listen(family, address)
    except OSError as error:
        problem = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise ConfigError(problem, variable="ROLECALL_HTTP", value=f"{host}:{port}") from None


def _listen(family: socket.AddressFamily, address: object) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)  # type: ignore[arg-type]  # each family has its own kind of address
        listener.listen(WAITING)
    except OSError:
        listener.close()
        raise
    return listener
