"""``tilewright annotate``, ``chain``, ``fuse``, ``image``, ``petsc`` and ``shot``: what is computed beside stencils."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.base.options import Options, option
from tilewright.base.tables import Shown
from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import AnnotateOptions, ChainOptions, FuseOptions, ImageOptions, ShotOptions, refuse


def annotate(
    file: Annotated[Path, typer.Argument(metavar="FILE.c", help="The annotated file.", show_default=False)],
    asked: AnnotateOptions,
    as_json: Json = False,
) -> None:
    """Tune the annotated loops of a C file, every variant compared with the original.

    Example: tilewright annotate axpy.c -o axpy.tuned.c --seconds 30
    """
    from tilewright.workloads.annotated.verbs.annotate import annotate as api

    result = api(file, **asked.keywords())
    output.tell(result, as_json)
    if asked.out is None and not as_json:
        typer.echo(result.text)


class ChainTrial(Options):
    """Whether the plan is run."""

    run: bool = option(False, "Multiply random matrices by the plan, beside numpy.linalg.multi_dot.")
    dtype: str = option("float64", "Element type of --run: float32 or float64.")


def chain(
    sizes: Annotated[
        list[int], typer.Argument(metavar="P0 P1 … Pn", help="Sizes: matrix i is P(i-1) x Pi.", show_default=False)
    ],
    asked: ChainOptions,
    trial: ChainTrial,
    as_json: Json = False,
) -> None:
    """Plan a chain of matrix products for least data movement.

    Example: tilewright chain 936 1008 552 368 1016 616 544 --memory 65536
    """
    from tilewright.workloads.chains import chain as api

    plan = api.plan(sizes, **asked.keywords())
    document = plan.to_dict()
    parts: list[Shown] = [plan.explain(), *([plan.table()] if plan.nodes else [])]
    if trial.run:
        measured = api.trial(plan, trial.dtype)
        document["run"] = measured.to_dict()
        parts.append(str(measured))
    output.show(document, lambda: parts, as_json)


class FuseOutput(Options):
    """Parameters of a built-in pipeline, and what is listed."""

    configurations: bool = option(False, "List every configuration of the first fusion with its resources.", rare=True)
    radius: int | None = option(None, "Radius of the filter in cells.", rare=True)
    sigma: float | None = option(None, "Standard deviation of the filter in cells.", rare=True)
    gradient: int | None = option(None, "Radius of the gradients.", rare=True)


def fuse(
    pipeline: Annotated[
        str,
        typer.Argument(
            metavar="PIPELINE",
            help="blend, convrows, blur, sobel, canny, unsharp or harris, or FILE.py:FUNCTION.",
            show_default=False,
        ),
    ],
    asked: FuseOptions,
    more: FuseOutput,
    as_json: Json = False,
) -> None:
    """Rank the legal fusions of a pipeline of stencils, with blocks and halos; nothing is run.

    Example: tilewright fuse canny --shape 2048x2048 --machine gtx780 --top 3
    """
    from tilewright.verbs.load import load_value
    from tilewright.workloads.pipelines.fuse import fuse as rank

    if asked.fusion is not None:
        refuse("--fusion", asked)
    filters = {name: getattr(more, name) for name in more.given("radius", "sigma", "gradient")}
    plan = rank(load_value(pipeline), **asked.keywords(), **filters)
    document = plan.to_dict()
    parts: list[Shown] = [str(plan)]
    if more.configurations:
        lists = plan.configurations()
        document["configurations"] = [each.to_dict() for each in lists]
        parts += [each.shown() for each in lists]
        reasons = dict.fromkeys(each.unknown for each in lists if each.unknown)
        parts += [f"registers are not all known: {reason}" for reason in reasons]
    output.show(document, lambda: parts, as_json)


def image(
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="blur, canny or sobel.", show_default=False)],
    source: Annotated[Path, typer.Argument(metavar="IN", help="A PNG, TIFF or JPEG picture.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Where the result goes.", show_default=False)],
    asked: ImageOptions,
    as_json: Json = False,
) -> None:
    """Blur a picture, or find its edges: grey or colour, 8 or 16 bits.

    Example: tilewright image canny photo.png edges.png --sigma 1.4 --low 0.1 --high 0.2
    """
    from tilewright.workloads.pipelines.image import process

    output.tell(process(operation, source, target, **asked.keywords()), as_json)


def petsc(
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder, or a file called libseqdia.so.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compile the matrix type seqdia (diagonals without padding) for the installed PETSc.

    A program that was built without knowing of it takes it with the options that are printed.

    Example: ./ex2 $(tilewright petsc) -ksp_monitor
    """
    from tilewright.sparse.petsc import build

    plugin = build(target)
    if as_json:
        output.emit(plugin.to_dict())
    else:
        typer.echo(" ".join(plugin.options))
    output.note(f"compiled against PETSc {plugin.petsc} ({plugin.dtype}) by {plugin.compiler}")


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
    from tilewright.waves.files import shoot_files

    output.tell(shoot_files(model, asked), as_json)
