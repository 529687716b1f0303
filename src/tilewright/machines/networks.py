"""Networks by name: the latency and the bandwidth of a message between two ranks (alpha and 1/beta).

Bandwidths are those of the links, in one direction, as their data sheets say; what MPI reaches is a few percent less.
Latencies of MPI depend on the host and the distance as well, so they are estimates with a range.
"""

from dataclasses import dataclass

from tilewright.base.errors import UsageError, meant
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network."""

    name: str
    title: str  # its name in full
    latency: Quantity  # time of an empty message
    bandwidth: Quantity  # bytes per second of a large one


def _network(name: str, title: str, latency: tuple[float, float, float], gigabits: float, note: str) -> Network:
    value, low, high = latency
    return Network(
        name=name,
        title=title,
        latency=Quantity(
            value=value, low=low, high=high, unit="s", source="estimated", note="MPI between two nodes, small messages"
        ),
        bandwidth=Quantity(value=gigabits * 1e9 / 8, unit="B/s", source="datasheet", note=note),
    )


NETWORKS = {
    each.name: each
    for each in (
        _network("slingshot", "HPE Slingshot 11", (2e-6, 1.5e-6, 4e-6), 200, "200 Gb/s per network card"),
        _network("hdr", "InfiniBand HDR", (1.2e-6, 0.8e-6, 3e-6), 200, "four lanes of 50 Gb/s"),
        _network("ndr", "InfiniBand NDR", (1.2e-6, 0.8e-6, 3e-6), 400, "four lanes of 100 Gb/s"),
        _network("edr", "InfiniBand EDR", (1.2e-6, 0.8e-6, 3e-6), 100, "four lanes of 25 Gb/s"),
        _network("omnipath", "Intel Omni-Path 100", (1.3e-6, 0.9e-6, 3e-6), 100, "four lanes of 25 Gb/s"),
        _network("ethernet100", "100 Gb Ethernet with RoCE", (4e-6, 2e-6, 1e-5), 100, "four lanes of 25 Gb/s"),
        _network("ethernet10", "10 Gb Ethernet with TCP", (2e-5, 1e-5, 6e-5), 10, "one lane"),
    )
}
"""The networks that have names."""


def network(name: str | Network | None, machine: Machine) -> Network:
    """Return a network by its name; by default what the machine's file says of its own.

    >>> from tilewright.machines.files import load
    >>> network("slingshot", load("zen3")).bandwidth.value
    25000000000.0
    """
    if isinstance(name, Network):
        return name
    if name is None:
        return Network(
            name=machine.name,
            title=f"the network of {machine.name}",
            latency=machine.network_latency,
            bandwidth=machine.network_bandwidth,
        )
    if not isinstance(name, str) or name not in NETWORKS:
        hint = f"{meant(str(name), NETWORKS)} the names are {', '.join(NETWORKS)}".strip()
        raise UsageError(f"there is no network {name!r:.60}", hint)
    return NETWORKS[name]
