"""Kernels under the interpreter Oclgrind: run, compared with the reference, races and wrong accesses looked for."""

import dataclasses
import re

import numpy as np

from tilewright.codegen.gpu.emit import emit_device
from tilewright.programs.stencil import reference, rounding
from tilewright.runtime.devices import gpu
from tilewright.runtime.session import Inputs
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule


def inputs(problem, seed=0):
    """Random arrays of a problem; a quarter for every scalar."""
    generator = np.random.default_rng(seed)
    program = problem.program

    def draw():
        values = generator.uniform(0.1, 1.0, problem.shape)
        return (values * 20 if problem.dtype.startswith("int") else values).astype(problem.dtype)

    arrays = {field: [draw() for _ in range(program.history(field))] for field in program.fields}
    return Inputs(arrays=arrays, scalars=dict.fromkeys(program.scalars, 0.25))


def source_of(problem, tiling, dialect="opencl", **options):
    """The kernels of a tiling with what it leaves open decided."""
    return emit_device(problem, gpu_schedule(problem, tiling), dialect, **options)


def loaded(device, problem, tiling, *, edit=None, **options):
    """They on a device, their text perhaps edited."""
    source = source_of(problem, tiling, device.dialect, **options)
    if edit is not None:
        source = dataclasses.replace(source, text=edit(source.text))
    return gpu.program_of(device, source, gpu_schedule(problem, tiling))


def run(device, problem, tiling, given=None, *, edit=None, strict=False, halo=None):
    """Compute a problem on a device, its text perhaps edited."""
    whole = problem if halo is None else halo.problem
    kernels = loaded(device, whole, tiling, edit=edit, strict=strict, periodic=bool(halo))
    session = gpu.GpuSession(kernels, problem, given or inputs(problem), halo)
    try:
        session.advance(problem.steps)
        return session.results()
    finally:
        session.close()


def judge(problem, given, results, *, strict=False):
    """Compare results with the reference: bit by bit where strict, else within the bound of rounding."""
    if strict:
        exact = reference.run(problem, given.arrays, given.scalars)
        assert all(exact[field].tobytes() == np.ascontiguousarray(results[field]).tobytes() for field in exact)
        return
    exact, allowed = rounding.bound(problem, given.arrays, given.scalars)
    for field, result in results.items():
        error, good = rounding.worst_excess(result, exact[field], allowed[field])
        assert good, (field, error)


def verify(device, capfd, problem, tiling, *, strict=False, halo=None, given=None):
    """Run and compare; the interpreter must have nothing to report."""
    given = given or inputs(problem)
    capfd.readouterr()
    judge(problem, given, run(device, problem, tiling, given, strict=strict, halo=halo), strict=strict)
    said = capfd.readouterr()
    assert not re.search("race|invalid|uninitialized", (said.err + said.out).lower()), said.err[:2000]
