"""Tracing pipelines."""

import pytest

import tilewright as tw
from tilewright.base.errors import TraceError, UsageError
from tilewright.workloads.pipelines.problem import make_pipeline_problem


@tw.stencil
def across(u):
    return u[0, 1] - u[0, -1]


@tw.stencil
def down(u):
    return u[1, 0] - u[-1, 0]


@tw.stencil
def mix(u, v, share):
    return u[0, 0] * (1 - share) + v[0, 0] * share


@tw.stencil
def both(u, v):
    return u[0, 1], v[1, 0] - u.new[0, 0]


def test_calling_stencils_on_grids_builds_the_graph():
    @tw.pipeline
    def pipe(image, other, share):
        """Mixes.

        More.
        """
        return mix(across(image), down(other), share)

    program = pipe.program
    assert program.inputs == ("G1", "G2")
    assert program.titles == ("image", "other")
    assert program.scalars == ("share",)
    assert program.summary == "Mixes."
    assert [(s.name, s.title, s.inputs, s.output) for s in program.stencils] == [
        ("S1", "across", ("G1",), "G3"),
        ("S2", "down", ("G2",), "G4"),
        ("S3", "mix", ("G3", "G4"), "G5"),
    ]
    assert "S3 mix: {G3: (0,0), G4: (0,0)} -> G5" in repr(pipe)


def test_a_stencil_of_several_outputs_is_decomposed():
    @tw.stencil
    def gradient(u, v):
        return u[0, 1] - u[0, -1], v[1, 0] - v[-1, 0]

    pipe = tw.pipeline(lambda a, b: gradient(a, b)[:2], name="gradient")
    assert [s.output for s in pipe.program.stencils] == ["G3", "G4"]
    assert pipe.program.outputs == ("G3", "G4")


def test_dead_stencils_are_dropped_and_loops_unroll():
    def body(image):
        across(image)
        for _ in range(3):
            image = down(image)
        return image

    program = tw.pipeline(body).program
    assert [s.title for s in program.stencils] == ["down"] * 3
    assert [s.name for s in program.stencils] == ["S1", "S2", "S3"]


def test_conversions_are_stencils_of_their_own():
    pipe = tw.pipeline(lambda image: across(image.astype("float32")).astype("uint8", rounding="floor"), name="edges")
    problem = make_pipeline_problem(pipe.program, (8, 8), "uint8")
    assert problem.dtypes == ("uint8", "float32", "float32", "uint8")


def test_what_is_no_pipeline():
    for body, message in [
        (lambda image: image, "a grid that a stencil computes"),
        (lambda image: None, "returns grids"),
        (lambda image: image[0, 0], "returns grids"),
        (lambda image: 1 / 0, "ZeroDivisionError"),
        (lambda image: image.astype("complex64"), "element type"),
        (lambda image: across(image).astype("uint8", rounding="up"), "rounding"),
        (lambda image, unused: across(image), "never used"),
        (lambda *images: across(images[0]), "fixed list"),
        (lambda image, shape: mix(image, image, shape), "clashes"),
        (lambda image: both(image, image), "another time level"),
        (lambda image, a: mix(image, a, a), "both as a grid and as a number"),
    ]:
        with pytest.raises(TraceError, match=message):
            tw.pipeline(body, name="wrong")


def test_grids_of_two_types_must_be_converted():
    pipe = tw.pipeline(lambda a, b: mix(a, b, 0.5), name="two")
    with pytest.raises(UsageError, match="astype"):
        make_pipeline_problem(pipe.program, (4, 4), ("uint8", "float32"))
