"""``tw.annotate``: annotated C in, tuned C, OpenCL or CUDA out."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.base.errors import ToolchainError, UsageError, one_of
from tilewright.base.paths import write_text
from tilewright.base.records import Record
from tilewright.plan import read_target
from tilewright.runtime.toolchains.build_command import parse_build_command
from tilewright.runtime.toolchains.cpu import find_command, first_error
from tilewright.verbs.options import AnnotateOptions
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workloads.annotated.lower.harness import joined, region_text
from tilewright.workloads.annotated.lower.lowering import code
from tilewright.workloads.annotated.lower.lowering import text as expression_text
from tilewright.workloads.annotated.nests.limit import TimeUpError, limited
from tilewright.workloads.annotated.nests.nest import Num
from tilewright.workloads.annotated.parse.evaluate import Plain
from tilewright.workloads.annotated.parse.file import LoopRegion, RegionGroup, read_file, read_text, sibling
from tilewright.workloads.annotated.parse.spec import TuningSpec
from tilewright.workloads.annotated.search import Deadline
from tilewright.workloads.annotated.verbs.case import Case, command_of, input_sizes, make_case
from tilewright.workloads.annotated.verbs.options import MAX_RUNS, AnnotatedOptions
from tilewright.workloads.annotated.verbs.result import SiteResult, SizeResult, untuned
from tilewright.workloads.annotated.verbs.site import plain_site, tune_site

BACKENDS = ("c", "opencl", "opencl:oclgrind", "cuda")
_ANALYSED = 1.1  # times the user's time at which what is left of the analysis ends


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Annotated(Record):
    """An annotated file, tuned."""

    KEYS = "source backend output=written notes regions=sites"

    source: str  # name of the annotated file
    backend: str  # what was written
    text: str  # of the new file
    sites: tuple[SiteResult, ...]  # what was found out about every region
    written: str | None = None  # where it was written, if it was
    notes: tuple[str, ...] = ()  # what was noticed about the file

    def __str__(self) -> str:
        head = f"{self.source}: {len(self.sites)} region{'s' * (len(self.sites) != 1)}"
        where = f", written to {self.written}" if self.written else ""
        return "\n".join([head + where, *(f"note: {note}" for note in self.notes), *map(str, self.sites)])


def annotate(
    path: str | Path,
    *,
    out: str | Path | None = None,
    backend: str = "c",
    seconds: float = 60.0,
    runs: int | None = None,
    search: str | None = None,
    sizes: Mapping[str, int] | None = None,
    strict: bool = False,
    allow_compilers: Sequence[str] = (),
    log: str | Path | None = None,
    seed: int = 0,
    repeats: int | None = None,
    machine: MachineLike | None = None,
) -> Annotated:
    """Tune the annotated regions of a C file.

    Args:
        path: The file.
        out: Where the new file goes; nothing is written without it.
        backend: ``c``, ``opencl``, ``opencl:oclgrind`` (interpreted, races and bounds checked) or ``cuda``.
        seconds: Time for the whole file, compilations and measurements; what is not done by then is ended.
        runs: Most variants per size of the input; what the specification says by default.
        search: A search of :mod:`tilewright.workloads.annotated.search`; the specification's by default.
        sizes: Values of input parameters in the place of the specification's.
        strict: Refuse transforms that a dependence forbids instead of leaving them out.
        allow_compilers: Programs that a build command may run beside the known compilers.
        log: File that keeps every result; a search that was cut goes on from it.
        seed: Of the inputs and the search.
        repeats: Times that a variant is timed.
        machine: With ``cuda`` a GPU of the catalogue or a machine file: variants are priced for it and not run. By
            default they are run on this machine's GPU or, where it has none, priced for that of the build command.

    Returns:
        The new text and what was found out.

    Raises:
        UsageError: If the file is not as it must be.
        IllegalTransformError: If a region cannot run as asked, the dependence named.
        TimeUpError: If the time was over before anything came out.
        ToolchainError: If the original body does not compile.
    """
    asked = AnnotateOptions.of(locals())
    one_of("the backend", backend, BACKENDS)
    if not 0 < seconds <= 10**6 or (runs is not None and not 1 <= runs <= MAX_RUNS):
        raise UsageError(f"a search has a positive time and 1 to {MAX_RUNS} runs, got {seconds:g} s and {runs}")
    where = read_target(backend)
    card = None if machine is None else as_machine(machine)
    if card is not None and (backend != "cuda" or card.kind != "gpu"):
        raise UsageError(
            f"a machine is a GPU that variants for cuda are priced for, got {card.name} ({card.kind}) with {backend!r}",
            "write it with --backend cuda, such as --machine c2070",
        )
    deadline = Deadline(end=time.monotonic() + seconds)
    analysed = Deadline(end=time.monotonic() + _ANALYSED * seconds)
    source = Path(path)
    target = _target(source, out)
    read = {
        "backend": where.backend,
        "device": where.device,
        "sizes": dict(sizes or {}),
        "allow_compilers": tuple(allow_compilers),
        "log": None if log is None else Path(log),
        "machine": card,
    }
    options = AnnotatedOptions(**asked.keywords() | read)
    text = read_text(source)
    with limited(lambda: analysed.left):
        sites = read_file(text, lambda name: sibling(source.parent, name))
        cases = _cases(sites, options, source.parent)
        results = _results(sites, cases, options, deadline)
    new = replaced(text, list(zip(sites, results, strict=True)))
    notes = _compile_notes(source, _program(text, sites), new, options, [site.spec for site in sites])
    if target is not None:
        ends = "\r\n" if b"\r\n" in source.read_bytes() else "\n"
        write_text(target, new.replace("\n", ends))
    return Annotated(
        source=str(source),
        backend=backend,
        text=new,
        sites=tuple(results),
        written=None if target is None else str(target),
        notes=notes,
    )


def _results(
    sites: Sequence[RegionGroup], cases: Sequence[Sequence[Case]], options: AnnotatedOptions, deadline: Deadline
) -> list[SiteResult]:
    results: list[SiteResult] = []
    waiting = sum(map(len, cases))
    for site, own in zip(sites, cases, strict=True):
        if site.spec is not None:
            results.append(tune_site(site, own, options, deadline, deadline.part(len(own) / waiting)))
            waiting -= len(own)
            continue
        try:
            results.append(plain_site(site, options))
        except TimeUpError as error:
            results.append(SiteResult(line=site.region.line, sizes=(untuned({}, error),), tuned=False))
    sizes = [size for each in results for size in each.sizes]
    if not any(size.made for size in sizes):
        raise TimeUpError(sizes[0].notes[0].partition(":")[0], "give more --seconds")
    return results


def _program(text: str, sites: Sequence[RegionGroup]) -> str:
    """Return the file with the annotations' code in the place of old bodies that are empty."""
    if all(loop.region.body(text).strip() for site in sites for loop in site.loops):
        return text
    return replaced(text, [(site, SiteResult(line=site.region.line, sizes=(), tuned=False)) for site in sites])


def _compile_notes(
    source: Path, text: str, new: str, options: AnnotatedOptions, specs: Sequence[TuningSpec | None]
) -> tuple[str, ...]:
    """Check that the new text compiles with its build commands' definitions; return a note if the old one does not."""
    try:
        command = list(find_command())
        for spec in specs:
            defines = parse_build_command(command_of(spec), options.allow_compilers).defines
            command += [f"-D{name}={value}" for name, value in defines]
    except (ToolchainError, UsageError):
        return ()
    error = first_error(command, text, source)
    if error:
        return (f"{source} does not compile as it stands: {error}",)
    if options.backend == "c" and (error := first_error(command, new, source)):
        raise ToolchainError(f"{source} compiles, what became of it does not: {error}", "nothing is written; report it")
    return ()


def _cases(sites: Sequence[RegionGroup], options: AnnotatedOptions, folder: Path) -> list[list[Case]]:
    """Work out everything that can be wrong before anything is run."""
    tuned = [site for site in sites if site.spec is not None]
    if options.sizes and not tuned:
        raise UsageError("the file has no tuning specification, so there is nothing to set")
    return [
        []
        if site.spec is None
        else [make_case(site, site.spec, size, folder) for size in input_sizes(site.spec, options.sizes or {})]
        for site in sites
    ]


def _target(source: Path, out: str | Path | None) -> Path | None:
    if out is None:
        return None
    target = Path(out)
    if target.exists() and source.exists() and target.resolve() == source.resolve():
        raise UsageError(f"the output would overwrite the annotated file {str(source)!r}", "give another name with -o")
    if target.is_dir():
        raise UsageError(f"the output is a file, {str(target)!r} is a folder")
    return target


def replaced(text: str, results: Sequence[tuple[RegionGroup, SiteResult]]) -> str:
    """Return a file's text with its regions' old bodies replaced; results come in the order of the text.

    The annotations stay, so that the file can be tuned again.
    """
    changes: list[tuple[int, int, str]] = []
    heads: list[str] = []
    for site, result in results:
        heads += [size.extra.get("_prelude", "") for size in result.sizes]
        for number, loop in enumerate(site.loops):
            if loop.region.body(text).strip() and not any(map(_is_new, result.sizes)):
                continue
            body = _body(number, _old_body(text, loop), result)
            if loop.finals:
                # One statement, as the region may be all that an if or a loop holds.
                body = f"  {{\n{body}{''.join(code(each, 1) for each in loop.finals)}  }}\n"
            changes.append((loop.region.body_start, loop.region.body_end, body))
    out: list[str] = []
    place = 0
    for start, end, new in changes:
        out += [text[place:start], "\n", new]
        place = end
    out.append(text[place:])
    return joined(heads) + "".join(out)


def _old_body(text: str, loop: LoopRegion) -> str:
    """Return the original body as the file has it, or the annotation's own code where there is none."""
    body = loop.region.body(text)
    return f"    {{\n{body.rstrip()}\n    }}\n" if body.strip() else region_text(loop.old, 2)


def _is_new(size: SizeResult) -> bool:
    return size.made and not size.extra.get("kept_original")


def _body(number: int, old: str, result: SiteResult) -> str:
    """Return what replaces one region's old body, which runs wherever the new one was not made for the call."""
    several = len(result.sizes) > 1
    branches: dict[str, str] = {}
    for place, size in enumerate(result.sizes):
        if not _is_new(size):
            continue
        values = result.guards[place].items() if several else ()
        conditions = size.conditions[number] if size.conditions else ()
        tests = dict.fromkeys([*(f"{name} == {_literal(value)}" for name, value in values), *conditions])
        new = _comment(size, result) + (size.text[number] if size.text else region_text(size.bodies[number]))
        if not tests:
            # It is right for every call, and nothing tells its size from those behind it.
            return _chain(branches, new)
        branches.setdefault(" &&\n      ".join(tests), new)
    why = "another size" if several else "another call than the code above is for"
    return _chain(branches, f"    /* {why}: the original body */\n{old}" if branches else old)


def _chain(branches: Mapping[str, str], last: str) -> str:
    if not branches:
        return last
    texts = [f"if ({test}) {{\n{branch}" for test, branch in branches.items()]
    return "  " + "  } else ".join([*texts, f"{{\n{last}"]) + "  }\n"


def _comment(size: SizeResult, result: SiteResult) -> str:
    values = ", ".join(f"{name}={value}" for name, value in size.values.items())
    command = " ".join(size.command)
    parts = [f"tuned: {values}" if result.tuned and values else "transformed", f"build: {command}" if command else ""]
    said = re.sub(r"\*/|/\*|@", " ", "; ".join(part for part in parts if part))
    return f"  /* {said} */\n"


def _literal(value: Plain) -> str:
    return expression_text(Num(repr(int(value) if isinstance(value, bool) else value)))
