"""Shots from files to files: models, receivers and traces."""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.paths import check_place, read_bounded
from tilewright.base.records import Record
from tilewright.base.units import format_seconds, format_shape
from tilewright.runtime.formats.files import read_planes, write_archive, write_planes
from tilewright.verbs.options import ShotOptions
from tilewright.waves.layers import CPML, Layers, Sponge, parse_layers
from tilewright.waves.models import Floats, Model
from tilewright.waves.shots import Shot, shot

_LARGEST_TEXT = 2**26


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FileShot(Record):
    """What a shot did."""

    KEYS = "*=shot.run time_step=shot.time_step traces outputs"

    shot: Shot
    outputs: tuple[Path, ...]  # as written

    @property
    def traces(self) -> dict[str, tuple[int, ...]]:
        """By field the shape of its traces."""
        return {field: values.shape for field, values in self.shot.traces.items()}

    def __str__(self) -> str:
        shot = self.shot
        largest = {field: float(np.abs(values).max(initial=0.0)) for field, values in shot.traces.items()}
        lines = [
            f"{shot.run.problem.program.name} {format_shape(shot.run.problem.shape)}: {shot.run.tiling}",
            f"{shot.run.problem.steps} steps of {format_seconds(shot.time_step)} in {format_seconds(shot.run.seconds)}",
            *(f"{f}: traces {format_shape(shot.traces[f].shape)}, largest {largest[f]:.4g}" for f in shot.traces),
            *(f"wrote {path}" for path in self.outputs),
        ]
        return "\n".join(lines)


def shoot_files(path: Path, job: ShotOptions) -> FileShot:
    """Compute a shot and write its traces."""
    velocity = _array(path, "the model")
    model = Model(
        velocity,
        _numbers(job.spacing, "spacing") if "," in job.spacing else _numbers(job.spacing, "spacing")[0],
        density=None if job.density is None else _array(job.density, "the density"),
        shear=None if job.shear is None else _array(job.shear, "the shear speed"),
    )
    if job.target is not None and job.target.suffix not in {".npy", ".npz"}:
        raise UsageError(f"traces are written to a .npy or .npz file, got {str(job.target)!r}")
    if job.target is not None:
        check_place(job.target)
    result = shot(
        model,
        [_numbers(job.source, "source")],
        _receivers(job, model),
        time=job.time,
        frequency=job.frequency,
        time_step=job.time_step,
        space_order=job.space_order,
        layers=_layers(job),
        interpolation=job.interpolation,
        every=job.every,
        dtype=job.dtype,
        threads=job.threads,
    )
    return FileShot(shot=result, outputs=() if job.target is None else (_write(result, job.target),))


def _layers(job: ShotOptions) -> Layers:
    if sum(each is not None for each in (job.layer, job.cpml, job.absorb)) > 1:
        raise UsageError("layers are said once", "give one of --layer, --cpml and --absorb")
    if job.absorb is not None:
        return parse_layers(job.absorb)
    if job.cpml is not None:
        return CPML(job.cpml) if job.cpml else None
    cells = 20 if job.layer is None else job.layer
    return Sponge(cells) if cells else None


def _receivers(job: ShotOptions, model: Model) -> Floats:
    if (job.receivers is None) == (job.depth is None):
        raise UsageError("receivers are in a file or at a depth", "give --receivers FILE or --receiver-depth 20")
    if job.receivers is not None:
        return _array(job.receivers, "receivers")
    across = [h * np.arange(n) for h, n in zip(model.spacing[1:], model.velocity.shape[1:], strict=True)]
    rows = [axis.ravel() for axis in np.meshgrid(*across, indexing="ij")]
    points = np.stack(rows, axis=1) if rows else np.empty((1, 0))
    return np.concatenate([np.full((len(points), 1), job.depth), points], axis=1)


def _numbers(text: str, name: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{name} is one number per axis, got {text!r}", f"write --{name} 10,12.5") from None


def _array(path: Path, name: str) -> Floats:
    try:
        if path.suffix == ".npy":
            return read_planes(path, "float64")[0]
        data = read_bounded(path, _LARGEST_TEXT, f"text of {name}")
        return np.loadtxt(io.StringIO(data.decode("utf-8")), ndmin=2)
    except UsageError:
        raise
    except (ValueError, TypeError) as error:
        raise ArrayError(f"{str(path)!r} holds no array of numbers for {name}: {error}") from None


def _write(result: Shot, path: Path) -> Path:
    if path.suffix == ".npz":
        write_archive(path, {"times": result.times, **result.traces})
    else:
        write_planes(path, (next(iter(result.traces.values())),))
    return path
