"""``tilewright annotate``: annotated C in, tuned code out."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import Json


def annotate(
    file: Annotated[Path, typer.Argument(metavar="FILE.c", help="The annotated file.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="OUT", help="Where the new file goes.", show_default=False)
    ] = None,
    backend: Annotated[str, typer.Option("--backend", help="c (with OpenMP), opencl, opencl:oclgrind or cuda.")] = "c",
    seconds: Annotated[float, typer.Option("--seconds", metavar="N", help="Time for the whole file.")] = 60.0,
    runs: Annotated[
        int | None,
        typer.Option("--runs", metavar="N", help="Most variants per size of the input.", show_default="the file's"),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search",
            metavar="NAME",
            help="Exhaustive, Randomsearch, Randomlocal, Simplex, Annealing, Direct, Firefly or Model.",
            show_default="the file's",
        ),
    ] = None,
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="An input parameter's value; may be repeated.", show_default=False
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse transforms that a dependence forbids instead of leaving them out.")
    ] = False,
    allow_compiler: Annotated[
        list[str] | None,
        typer.Option("--allow-compiler", metavar="NAME", help="A further program that build commands may run."),
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Keeps every result; a cut search goes on from it.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the inputs and the search.")] = 0,
    repeats: Annotated[
        int | None,
        typer.Option("--repeats", metavar="N", help="Times that a variant is timed.", show_default="the file's"),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            metavar="M",
            help="With --backend cuda: price variants for a GPU of the catalogue or a file, and run none.",
            show_default="this machine's GPU, which runs them, or that of the build command",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Tune the annotated loops of a C file, every variant compared with the original.

    Example: tilewright annotate axpy.c -o axpy.tuned.c --seconds 30
    """
    from tilewright.verbs.annotated.annotate import annotate as api

    result = api(
        file,
        out=out,
        backend=backend,
        seconds=seconds,
        runs=runs,
        search=search,
        sizes=dict(_setting(each) for each in sizes or []),
        strict=strict,
        allow_compilers=allow_compiler or [],
        log=log,
        seed=seed,
        repeats=repeats,
        machine=machine,
    )
    if as_json:
        output.emit(result.to_dict())
    output.say(str(result), as_json)
    if out is None and not as_json:
        typer.echo(result.text)


def _setting(text: str) -> tuple[str, int]:
    """Read NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not separator or not value.strip().isdecimal() or len(value) > 18:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE with a whole number", param_hint="--set")
    return name.strip(), int(value)
