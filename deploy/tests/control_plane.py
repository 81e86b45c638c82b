"""A real control plane on loopback: etcd, kube-apiserver with RBAC, and the controllers that create pods of sets."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0
CONTROLLERS = "statefulset,deployment,replicaset,serviceaccount"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """The API server's address and its administrator's credentials."""

    url: str
    authority: Path
    admin_token: str
    folder: Path

    def kubeconfig(self, name: str, token: str) -> Path:
        """Write the kubeconfig file of one account."""
        cluster = {"server": self.url, "certificate-authority": str(self.authority)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        file = self.folder / f"{name}.kubeconfig"
        file.touch(mode=0o600)
        file.write_text(json.dumps(document))
        return file

    def version(self) -> str:
        return str(json.loads(self.ask("/version"))["gitVersion"])

    def ask(self, path: str) -> str:
        """Read a path of the API as its administrator."""
        context = ssl.create_default_context(cafile=str(self.authority))
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.admin_token}"})
        with urllib.request.urlopen(request, context=context, timeout=5) as response:
            return str(response.read().decode())


@contextmanager
def control_plane(binaries: Path, folder: Path) -> Iterator[ControlPlane]:
    """Run all three processes during the block; their logs are in the folder."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        etcd = _start_etcd(binaries, folder, started)
        plane = _start_api_server(binaries, folder, etcd, started)
        _start_controllers(binaries, plane, started)
        yield plane
    finally:
        for process in reversed(started):
            _stop(process)


def _start_etcd(binaries: Path, folder: Path, started: list[subprocess.Popen[bytes]]) -> str:
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    words = ["--data-dir", str(folder / "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client]
    words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
    started.append(_start(binaries / "etcd", [*words, "--unsafe-no-fsync"], folder))
    return client


def _start_api_server(binaries: Path, folder: Path, etcd: str, started: list[subprocess.Popen[bytes]]) -> ControlPlane:
    port, token, key, tokens = free_port(), secrets.token_hex(16), folder / "accounts.key", folder / "tokens.csv"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    tokens.touch(mode=0o600)
    tokens.write_text(f'{token},admin,admin,"system:masters"\n')
    words = [
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certificates'}",
        "--authorization-mode=RBAC",
        f"--token-auth-file={tokens}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={key}",
        f"--service-account-key-file={key}",
    ]
    process = _start(binaries / "kube-apiserver", words, folder)
    started.append(process)
    authority = folder / "certificates" / "apiserver.crt"
    plane = ControlPlane(url=f"https://127.0.0.1:{port}", authority=authority, admin_token=token, folder=folder)
    _wait_until_ready(plane, process)
    return plane


def _start_controllers(binaries: Path, plane: ControlPlane, started: list[subprocess.Popen[bytes]]) -> None:
    words = [f"--kubeconfig={plane.kubeconfig('controllers', plane.admin_token)}", f"--controllers={CONTROLLERS}"]
    words += ["--leader-elect=false", "--port=0", "--secure-port=0"]
    started.append(_start(binaries / "kube-controller-manager", words, plane.folder))


def _start(program: Path, words: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / f"{program.name}.log").open("wb") as log:
        return subprocess.Popen([str(program), *words], stdout=log, stderr=log, cwd=folder, env={"PATH": os.defpath})


def _wait_until_ready(plane: ControlPlane, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            if plane.ask("/readyz") == "ok":
                return
        except (OSError, urllib.error.URLError) as error:
            if process.poll() is not None or time.monotonic() > until:
                log = (plane.folder / "kube-apiserver.log").read_text()[-2000:]
                raise RuntimeError(f"kube-apiserver did not become ready ({error}):\n{log}") from error
        time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def find_kubectl() -> str:
    """Return the path of kubectl, which renders the manifests. Raises RuntimeError if it is missing."""
    if found := shutil.which("kubectl"):
        return found
    raise RuntimeError("this needs kubectl on the PATH, 1.27 or newer, to render deploy/kubernetes")
