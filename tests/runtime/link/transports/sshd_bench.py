"""A real sshd on loopback with throw-away keys: what a test of the remote link talks to."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

REMOTE = f"{shlex.quote(sys.executable)} -m console"
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

_SERVER = """
Port {port}
ListenAddress {address}
HostKey {place}/host
PidFile {place}/sshd.pid
AuthorizedKeysFile {place}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AllowTcpForwarding yes
LogLevel ERROR
SetEnv HOME={place}/home
"""
"""The sessions have a home of their own: what the account's shell files do, and wait for, is not used."""
_CLIENT = """
Host far
    HostName {address}
    Port {port}
    User {user}
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {place}/known_hosts
    ConnectionAttempts 1
"""


class Sshd:
    """An sshd. `key` adds a key that may log in; `ssh` is the command line of a client that uses it. `within` is a
    command that runs others somewhere else, in a network of their own.
    """

    def __init__(self, place: Path, *, address: str = "127.0.0.1", within: Sequence[str] = ()) -> None:
        if SSHD is None:
            pytest.skip("no sshd is installed: apt-get install openssh-server")
        self.place = place
        self.address = address
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._keygen("host")
        (place / "authorized_keys").touch()
        (place / "home").mkdir(exist_ok=True)
        (place / "sshd_config").write_text(_SERVER.format(port=self.port, place=place, address=address))
        client = _CLIENT.format(port=self.port, place=place, address=address, user=getpass.getuser())
        (place / "ssh_config").write_text(client)
        self.know_host()
        if os.getuid() == 0:  # sshd of root wants the empty directory that its init script makes
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self._log = (place / "sshd.log").open("wb")
        self._server = subprocess.Popen(
            [*within, SSHD, "-D", "-e", "-f", str(place / "sshd_config")], stderr=self._log, start_new_session=True
        )
        self.come_up()

    def know_host(self) -> None:
        """Put the server's key among the known ones."""
        key = (self.place / "host.pub").read_text()
        (self.place / "known_hosts").write_text(f"[{self.address}]:{self.port} {key}")

    def key(self, name: str = "key", *, options: str = "", passphrase: str = "") -> None:
        """Add a key that may log in, with what stands before it in `authorized_keys`."""
        self._keygen(name, passphrase)
        public = (self.place / f"{name}.pub").read_text()
        with (self.place / "authorized_keys").open("a") as file:
            file.write(f"{options} {public}".lstrip())

    def ssh(self, name: str = "key", *options: str) -> list[str]:
        """The client's command line, up to options."""
        return ["ssh", "-F", str(self.place / "ssh_config"), "-i", str(self.place / name), *options]

    def sessions(self) -> list[int]:
        """Ids of the processes that serve a connection each, and of what they run."""
        return _descendants(self._server.pid)

    def freeze(self) -> list[int]:
        """Let every connection fall silent, without closing it; those that come later are served."""
        found = self.sessions()
        for pid in found:
            os.kill(pid, signal.SIGSTOP)
        return found

    def end(self, pid: int) -> None:
        """Kill a process of ours, if it is still there."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        for pid in self.sessions():
            self.end(pid)
        self._server.kill()
        self._server.wait()
        self._log.close()

    def _keygen(self, name: str, passphrase: str = "") -> None:
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(self.place / name)], check=True
        )

    def come_up(self) -> None:
        """Wait until it listens."""
        deadline = time.monotonic() + 20
        while self._server.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        self.close()
        raise AssertionError(f"sshd did not come up: {(self.place / 'sshd.log').read_text()}")


def _descendants(pid: int) -> list[int]:
    parents = dict(_parents())
    found, fresh = [], [pid]
    while fresh:
        fresh = [child for child, parent in parents.items() if parent in fresh]
        found += fresh
    return found


def _parents() -> Iterator[tuple[int, int]]:
    """Every process and its parent: from /proc, for a slim system has no `ps`; from `ps` where there is no /proc."""
    if not Path("/proc/self/stat").exists():
        out = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        yield from ((int(pid), int(parent)) for pid, parent in map(str.split, out.splitlines()))
        return
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            yield int(path.parent.name), int(path.read_text(errors="replace").rpartition(")")[2].split()[1])
