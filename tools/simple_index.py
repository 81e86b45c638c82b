"""The smallest client of a simple package index (PEP 503): fetches one project's wheel for this machine."""

from __future__ import annotations

import base64
import platform
import re
import ssl
import sys
import urllib.parse
import urllib.request
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

SECONDS = 120
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


class IndexFailed(Exception):
    """The index cannot be read or lacks the wheel; the message says why, without any password."""


class Links(HTMLParser):
    """Gathers the targets of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the target of each anchor."""
        self.targets += [value for name, value in attrs if tag == "a" and name == "href" and value]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleIndex:
    """Reads indexes with the given certificate file, or with the system's where that is empty."""

    certificates: str = ""

    def download(self, index: str, prefix: str, folder: Path) -> Path:
        """Fetch the wheel whose name begins with the prefix (`uv-1.2.3-`)."""
        page = f"{index.rstrip('/')}/{prefix.partition('-')[0]}/"
        if page.startswith("file:"):
            page += "index.html"
        links = Links()
        links.feed(self.get(page).decode())
        for link in links.targets:
            address = urllib.parse.urldefrag(urllib.parse.urljoin(page, link)).url
            name = urllib.parse.unquote(address.rpartition("/")[2])
            if name.startswith(prefix) and is_for_this_machine(name):
                content = self.get(with_credentials_of(page, address))
                return kept(content, folder / name)
        raise IndexFailed(f"{without_password(index)} has no {prefix}*.whl for this machine")

    def get(self, address: str) -> bytes:
        context = ssl.create_default_context(cafile=self.certificates or None)
        try:
            with urllib.request.urlopen(request(address), timeout=SECONDS, context=context) as answer:  # noqa: S310 - see request()
                return bytes(answer.read())
        except (OSError, ValueError) as error:
            raise IndexFailed(f"{without_password(address)}: {error}") from error


def kept(content: bytes, file: Path) -> Path:
    file.write_bytes(content)
    return file


def request(address: str) -> urllib.request.Request:
    """A request with the address's user and password, if it has them, in the header where they belong."""
    parts = urllib.parse.urlsplit(address)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    headers = {"Accept": "text/html, */*"}
    if parts.username:
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    return urllib.request.Request(bare, headers=headers)  # noqa: S310 - the machine's owner names the index


def with_credentials_of(page: str, address: str) -> str:
    """Files on the index's own host need the same user and password; other hosts must not be told them."""
    owner, target = urllib.parse.urlsplit(page), urllib.parse.urlsplit(address)
    same_host = owner.netloc.rpartition("@")[2] == target.netloc
    return target._replace(netloc=owner.netloc).geturl() if same_host else address


def is_for_this_machine(name: str) -> bool:
    machine = MACHINES.get(platform.machine().lower(), platform.machine().lower())
    if sys.platform == "darwin":
        return "macosx" in name and (machine in name or (machine == "aarch64" and "arm64" in name))
    libc = "manylinux" if platform.libc_ver()[0] == "glibc" else "musllinux"
    return name.endswith(f"{machine}.whl") and libc in name


def without_password(text: str) -> str:
    return re.sub(r"://[^/@\s]+@", "://", text)
