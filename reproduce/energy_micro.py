"""Energy constants from micro-benchmarks of single operations (thesis, section B.7), metered on this CPU or a GPU.

python reproduce/energy_micro.py --meter rapl -o mine.toml

On a GPU: --backend cuda -o card.toml. Where another meter records: first --log windows.csv, and with what it recorded
--meter trace.csv --log windows.csv -o mine.toml.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from energy.metering import MeterProtocol, MicroEnergy, log_windows, micro_energy
from tilewright.base.errors import TilewrightError
from tilewright.base.paths import write_text
from tilewright.base.tables import Table, table
from tilewright.machines.files import to_toml
from tilewright.plan import read_target


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", help="one of the catalogue or a file; what --backend runs on by default")
    parser.add_argument("--meter", help="rapl, nvml, nvml:1, or a recorded trace of seconds since 1970 and watts")
    parser.add_argument("--backend", default="c", help="what is metered: c, cuda or opencl, perhaps with a device")
    parser.add_argument("--log", type=Path, help="when each benchmark ran (.csv); read with a recorded trace")
    parser.add_argument("--window", type=float, help="seconds of a window, at least 1; 3 on a GPU")
    parser.add_argument("-o", "--output", type=Path, help="write the machine with its constants to this file")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    chosen = parser.parse_args(arguments)
    protocol, on_device = MeterProtocol(window=chosen.window), read_target(chosen.backend).on_device
    if chosen.meter is None and chosen.log is not None:
        if chosen.output is not None:
            parser.error("without a meter there are no constants for -o; give --meter, or leave it out")
        count = log_windows(chosen.machine, log=chosen.log, backend=chosen.backend, how=protocol)
        more = f" --backend {chosen.backend}" if on_device else ""
        print(f"{chosen.log} holds {count} windows; next:{more} --meter trace.csv --log {chosen.log}")
        return
    if chosen.meter is None and not on_device:
        parser.error("give --meter rapl, or --log FILE.csv while another meter records")
    found = micro_energy(chosen.machine, meter=chosen.meter, backend=chosen.backend, log=chosen.log, how=protocol)
    print(json.dumps(found.to_dict(), indent=1) if chosen.json else _shown(found))
    if chosen.output is not None:  # last: metering took minutes, a file may fail
        write_text(chosen.output, to_toml(found.machine))


def _shown(found: MicroEnergy) -> Table:
    """Show what single operations take, with their intervals."""
    rows = []
    for each in found.constants:
        doubt = "" if each.resolved else "not told apart from 0"
        rows.append((each.name, f"{each.value:.3g}", f"{each.low:.3g} to {each.high:.3g}", doubt))
    title = f"single operations on {found.machine.name} by {found.meter}"
    return table(("constant", ">W or J", "95 % interval", ""), rows, title)


if __name__ == "__main__":
    try:
        main()
    except TilewrightError as error:
        sys.exit(f"error: {error}")
