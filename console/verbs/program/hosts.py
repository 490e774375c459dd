"""Names of hosts, from the command line or the user's `orbiter.toml`."""

from __future__ import annotations

from collections.abc import Sequence

from console.output import print_note
from orbiter.errors import ConfigurationError
from runtime.config.configuration import Configuration
from runtime.config.schema import HostSettings
from runtime.link.transports.ssh import SshTransport
from runtime.link.transports.ssh_host import SshHost


def host_transports(
    names: Sequence[str], configuration: Configuration, *, viewer: bool = False
) -> dict[str, tuple[SshTransport, bool]]:
    """The way to each host, by its name, and whether its runtime is to be started.

    Args:
        names: Each a host of the user's `orbiter.toml`, or ``[user@]host[:path]``.
        configuration: What is configured here.
        viewer: Look only, without acts.

    Raises:
        InvalidHost: a name is neither.
        ConfigurationError: the workspace's file names it, not the user's.
    """
    found: dict[str, tuple[SshTransport, bool]] = {}
    for name in dict.fromkeys(names):
        given = _named(name, configuration)
        host = SshHost.parse(name if given is None else given.address)
        given = given or HostSettings(address=name)
        way = SshTransport(host, remote=given.command, viewer=viewer or given.viewer, says=print_note)
        found[name] = way, given.start
    return found


def _named(name: str, configuration: Configuration) -> HostSettings | None:
    """What `orbiter.toml` says of a host.

    Raises:
        ConfigurationError: the workspace's file names it, not the user's.
    """
    if why := configuration.refused_hosts().get(name):
        raise ConfigurationError(why)
    return configuration.settings.hosts.get(name)
