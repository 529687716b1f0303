"""``tilewright shot``: a seismic shot through a velocity model in a file."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import ShotOptions


def shot(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A .npy file of speeds in m/s, depth first.", show_default=False)
    ],
    asked: ShotOptions,
    as_json: Json = False,
) -> None:
    """Compute what receivers record of a source in a velocity model.

    Example: tilewright shot v.npy --spacing 10 --source 20,1500 --receiver-depth 20 --time 0.5 --cpml 20 -o traces.npz
    """
    from tilewright.cli.jobs import shot as job

    done = job.perform(job.ShotJob(model=model, **asked.keywords()))
    if as_json:
        output.emit(done.to_dict())
    output.say(str(done), as_json)
