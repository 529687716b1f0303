"""One region at one size of its input: what is known there, and the text of its variants."""

import contextlib
import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.runtime.host import available_bytes
from tilewright.runtime.toolchains.build_command import parse_build_command, substitute, unknown_parameters
from tilewright.workloads.annotated.call import RegionInput
from tilewright.workloads.annotated.lower.apply import Applied, apply_transforms
from tilewright.workloads.annotated.lower.edges import split_edges
from tilewright.workloads.annotated.lower.harness import BoundVariable, emit_unit
from tilewright.workloads.annotated.lower.parallel import on_cpu
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.scalars import exposed, inline_temporaries, localise, subscripts
from tilewright.workloads.annotated.nests.values import ELEMENTS, INTEGER_TYPES, REAL_TYPES, evaluate
from tilewright.workloads.annotated.parse.c import parse_expression
from tilewright.workloads.annotated.parse.evaluate import Plain, formula
from tilewright.workloads.annotated.parse.file import InputFiles, LoopRegion, RegionGroup, read_input_files, sibling
from tilewright.workloads.annotated.parse.spec import TuningSpec, Variable

PARALLEL = "parallel"
"""The parameter that a search for CPUs adds where a device is asked for: whether loops run on threads."""
INTERIOR = "interior"
"""The parameter that a search for CPUs adds where conditions tell a loop's ends: whether the interior is split off."""
MOST_SIZES = 64  # most sizes of the input that one specification may be tuned for
_MOST_HELD = 2**29  # largest array that is an object of a unit: those of one have to lie within 2 GiB
_SHARE = 0.15  # share of the free memory that the inputs may take; they are held five times


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A site at one size of its input."""

    site: RegionGroup  # the regions
    numbers: Mapping[str, int | float]  # parameters of the input
    known: Mapping[str, int]  # whole numbers that names stand for in the regions
    inputs: tuple[RegionInput, ...]  # what is bound from outside; results among them
    bound: tuple[BoundVariable, ...]  # the same for the generator
    loose: Mapping[str, str]  # types of scalars that the regions set before they read them
    types: Mapping[str, str]  # types of scalars and of arrays' elements
    # code that gives the inputs their first values, or an empty block
    init: tree.Stmt = field(default_factory=lambda: tree.Block(()))
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # extents of arrays, where known
    # types of parameters of the input that are variables of the file, which its compiler does not know
    varying: Mapping[str, str] = field(default_factory=dict)

    def unit(self, bodies: Sequence[tree.Stmt], prelude: str = "") -> str:
        """Return the translation unit in which the regions are replaced by bodies."""
        closed = [
            tree.Block((body, *loop.finals)) if loop.finals else body
            for body, loop in zip(bodies, self.site.loops, strict=True)
        ]
        return self._unit(self.site.filled(closed), prelude)

    def _unit(self, body: tree.Stmt | str, prelude: str = "") -> str:
        return emit_unit(
            body, self.bound, numbers=self.numbers, loose=self.loose, varying=self.varying, prelude=prelude
        )

    def original(self) -> str:
        """Return the unit with the original bodies."""
        return self.unit([loop.old for loop in self.site.loops])

    def reference(self) -> str:
        """Return the unit that runs the regions as the file has them."""
        return self._unit(self.site.text)

    def initial(self) -> str:
        """Return the unit that only initialises the inputs, or an empty text."""
        if self.init == tree.Block(()):
            return ""
        return emit_unit(self.init, self.bound, numbers=self.numbers)

    @property
    def spec(self) -> TuningSpec:
        """What its annotation asks for."""
        if self.site.spec is None:
            raise UsageError("there is no tuning specification")
        return self.site.spec

    @property
    def setting(self) -> NestContext:
        """What is known of the place where its regions stand."""
        return NestContext(known=self.known, types=self.types)

    def code(self, loop: LoopRegion, *, plain: bool = False) -> tree.Stmt:
        """Return a region's code, or without its transforms the original body, with temporaries inside the loops."""
        names = loop.live | {each.name for each in self.inputs if not each.extents}
        return localise(inline_temporaries(loop.old if plain else loop.code, self.types, names), self.types, names)

    def transformed(
        self,
        loop: LoopRegion,
        code: tree.Stmt,
        values: Mapping[str, object],
        setting: NestContext,
        *,
        strict: bool,
        openmp: bool = True,
    ) -> Applied:
        """Carry out the transforms of a region at one point of the space."""
        lets: dict[str, Any] = {**(self.site.spec.lets if self.site.spec else {}), **self.numbers, **values}
        where = f"a transform of line {loop.region.line}"
        return apply_transforms(
            code,
            setting,
            lambda text: formula(text, where).value(lets),
            lambda text: parse_expression(text, "an array reference"),
            strict=strict,
            openmp=openmp,
        )

    def threaded(
        self,
        loop: LoopRegion,
        code: tree.Stmt,
        values: Mapping[str, object],
        setting: NestContext,
        *,
        strict: bool = False,
    ) -> tuple[tree.Stmt, list[str]]:
        """Return a region at one point of the space for a CPU, a device's kernels on its threads, and notes."""
        applied = self.transformed(loop, code, values, setting, strict=strict)
        whole = split_edges(applied.stmt) if values.get(INTERIOR) else applied.stmt
        if not applied.device or not values.get(PARALLEL, True):
            return whole, applied.notes
        stmt, notes = on_cpu(whole, applied.device, setting, strict=strict)
        return stmt, [*notes, *applied.notes]


def input_sizes(spec: TuningSpec, chosen: Mapping[str, int]) -> tuple[dict[str, Plain], ...]:
    """Return the sizes of the input that a specification asks for, with ``chosen`` values in place of its own."""
    names = [each.name for each in spec.inputs]
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is no input parameter", f"they are {', '.join(names) or 'none'}")
    values = [(chosen[each.name],) if each.name in chosen else each.values for each in spec.inputs]
    if math.prod(len(each) for each in values) > 100_000:
        raise UsageError("the input parameters have more than 100000 combinations")
    sizes = []
    for point in itertools.product(*values):
        size: dict[str, Plain] = dict(zip(names, point, strict=True))
        if all(rule.value({**spec.lets, **size}) for _, rule in spec.input_constraints):
            sizes.append(size)
    if not sizes:
        raise UsageError("no size of the input fulfils the constraints of input_params")
    if len(sizes) > MOST_SIZES:
        raise UsageError(
            f"a specification is tuned for at most {MOST_SIZES} sizes of the input, got {len(sizes)}",
            "add a constraint, or choose with --set NAME=VALUE",
        )
    return tuple(sizes)


def make_case(site: RegionGroup, spec: TuningSpec, size: Mapping[str, Plain], folder: Path) -> Case:
    """Work out what is known of a site at one size of its input; files it names are relative to ``folder``."""
    numbers = _numbers(site, size)
    files = _input_files(spec, folder)
    whole = {name: value for name, value in numbers.items() if isinstance(value, int)}
    # Extents may name the whole numbers that the file gives to scalars and macros before the region.
    scalars = {name: value for name in site.values if (value := file_value(site, name)) is not None}
    words: dict[str, Plain] = {**scalars, **spec.lets, **size}
    variables: dict[str, RegionInput] = {}
    for each in spec.variables:
        variables[each.name] = variable = _input(each, words)
        if not variable.extents and isinstance(variable.init, int):
            words.setdefault(each.name, variable.init)
    variables |= {each.name: _declared_input(each, whole) for each in files.variables}
    old = site.filled([loop.old for loop in site.loops])
    declared = {node.name: node for node in tree.every(old, tree.Declare)}
    ctypes = {each.name: each.ctype for each in spec.variables}
    types = region_types(site, ctypes | {each.name: each.ctype for each in files.variables}, numbers)
    names = set(variables) | set(numbers) | set(declared)
    live = {each.name: each for each in _live(site, old, types, names, _results(site, variables, types))}
    constants = _constants(old, whole, {**variables, **live}, files.init)
    fixed = subscripts(old) | set(constants)
    inputs = [
        replace(each, wide=each.name not in fixed and not isinstance(each.init, tuple))
        for each in (*variables.values(), *live.values())
    ]
    _check_memory(inputs)
    alone = {each.name for each in spec.variables if each.static}
    bound = tuple(
        BoundVariable(
            ctype=types[each.name],
            name=each.name,
            extents=each.extents,
            inside=each.name in declared,
            held=_storage(each, site, alone),
        )
        for each in inputs
    )
    loose = {name: types[name] for name in sorted((tree.scalars(old) | tree.counters(old)) - names - set(live))}
    shapes = {each.name: each.extents for each in variables.values() if each.extents}
    for name, node in declared.items():
        extents = [evaluate(each, constants) for each in node.dims]
        if extents and all(isinstance(each, int) and each > 0 for each in extents):
            shapes[name] = tuple(each for each in extents if isinstance(each, int))
    return Case(
        site=site,
        numbers=numbers,
        known=constants,
        inputs=tuple(inputs),
        bound=bound,
        loose=loose,
        types=types,
        init=files.init,
        shapes=shapes,
        varying={
            name: site.parameters[name].ctype for name in numbers if name in site.parameters and name not in site.values
        },
    )


def _storage(each: RegionInput, site: RegionGroup, alone: Collection[str]) -> str:
    """Return where the file has an array; one that it does not declare is where the specification says."""
    own = each.name in (site.arrays if each.name in site.parameters else alone)
    if own and each.nbytes <= _MOST_HELD:
        return "array"
    return "restrict" if each.name in site.restricted else "argument"


def _numbers(site: RegionGroup, size: Mapping[str, Plain]) -> dict[str, int | float]:
    """Return the parameters that are constants of the unit; those that the code declares itself are not."""
    own = tree.declared(site.around)
    numbers: dict[str, int | float] = {}
    for name, value in size.items():
        if isinstance(value, bool | int | float) and name not in own:
            numbers[name] = int(value) if isinstance(value, bool) else value
    return numbers


def _input_files(spec: TuningSpec, folder: Path) -> InputFiles:
    args = spec.args.get("input_vars", {})
    names = [str(args[key]) for key in ("decl_file", "init_file") if key in args]
    if not names:
        return InputFiles()
    command = str(spec.arg("build", "build_command") or "cc")
    defines = parse_build_command(command.replace("@", "")).defines if "@" not in command else ()
    return read_input_files(list(dict.fromkeys(names)), defines, lambda name: sibling(folder, name))


def _input(each: Variable, names: Mapping[str, Plain]) -> RegionInput:
    extents = tuple(_extent(dim.value(names), each.name) for dim in each.dims)
    init: Any = "random"
    if isinstance(each.init, tuple):
        init = tuple(_number(item.value(names), each.name) for item in each.init)
    elif not isinstance(each.init, str):
        init = _number(each.init.value(names), each.name)
    if init == "random" and not extents:
        init = 0.75 if each.ctype in REAL_TYPES else 1
    return RegionInput(name=each.name, dtype=ELEMENTS[each.ctype], extents=extents, init=init)


def _extent(value: Plain, name: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**40:
        raise UsageError(f"an extent of {name!r} is a positive whole number, got {str(value)[:40]!r}")
    return value


def _number(value: Plain, name: str) -> int | float:
    if not isinstance(value, int | float):
        raise UsageError(f"{name!r} is set to a number, got {str(value)[:40]!r}")
    return value


def _declared_input(each: tree.Declare, values: Mapping[str, int]) -> RegionInput:
    extents = tuple(_extent(evaluate(dim, values) or 0, each.name) for dim in each.dims)
    init = evaluate(each.value, values) if isinstance(each.value, tree.Expr) else None
    return RegionInput(name=each.name, dtype=ELEMENTS[each.ctype], extents=extents, init=0 if init is None else init)


def _constants(
    stmt: tree.Stmt, numbers: Mapping[str, int], inputs: Mapping[str, RegionInput], init: tree.Stmt
) -> dict[str, int]:
    """Return whole numbers that names stand for: parameters, and scalars that are set once, to something known."""
    constants = dict(numbers)
    # A floating-point number that begins with a whole one chooses nothing: it is compared on other values, too.
    whole = [each for each in inputs.values() if not each.extents and not each.dtype.startswith("float")]
    single = {each.name: each.init for each in whole}
    constants |= {
        name: value for name, value in single.items() if isinstance(value, int) and name not in tree.written(stmt)
    }
    assigned: dict[str, list[tree.Expr | None]] = {}
    for node in (*tree.statements(init), *tree.statements(stmt)):
        if isinstance(node, tree.Declare) and not node.dims and isinstance(node.value, tree.Expr):
            assigned.setdefault(node.name, []).append(node.value)
        elif isinstance(node, tree.Assign) and isinstance(node.target, tree.Name):
            assigned.setdefault(node.target.name, []).append(node.value if node.op == "=" else None)
    nested = (node for node in tree.statements(stmt) if isinstance(node, tree.Loop | tree.If))
    bad = tree.counters(stmt).union(*map(tree.written, nested))
    for name in {name for name, values in assigned.items() if len(values) > 1} | bad:
        constants.pop(name, None)
    for _ in range(4):
        for name, values in assigned.items():
            if len(values) == 1 and values[0] is not None and name not in constants and name not in bad:
                value = evaluate(values[0], constants)
                if isinstance(value, int):
                    constants[name] = value
    # Scalars that the files set stand for what they are set to, whatever they were before.
    for name, values in assigned.items():
        if name in inputs and len(values) == 1 and values[0] is not None and name in constants and name not in numbers:
            value = evaluate(values[0], {k: v for k, v in constants.items() if k != name})
            if isinstance(value, int):
                constants[name] = value
            else:
                constants.pop(name)
    return constants


def _results(site: RegionGroup, variables: Mapping[str, RegionInput], types: Mapping[str, str]) -> list[str]:
    names: dict[str, None] = {}
    for loop in site.loops:
        plain = localise(inline_temporaries(loop.old, types, loop.live), types, loop.live)
        scope = tree.declared(plain) | set(variables)
        for node in (*tree.every(plain, tree.Assign), *loop.finals):
            name = node.variable if isinstance(node.target, tree.Name) else ""
            if name and name not in scope and (node in loop.finals or name not in tree.counters(loop.old)):
                names[name] = None
    return list(names)


def _live(
    site: RegionGroup, old: tree.Stmt, types: Mapping[str, str], identifiers: set[str], results: Sequence[str]
) -> list[RegionInput]:
    chosen = subscripts(old)
    inputs = []
    names = [name for name in sorted(tree.scalars(old) - identifiers - tree.counters(old)) if exposed(old, name)[0]]
    for name in dict.fromkeys((*results, *names)):
        value = file_value(site, name)
        if value is None and name in chosen and name in names:
            raise UsageError(
                f"the loops or subscripts in the region of line {site.region.line} depend on {name!r}, "
                "which has no value there",
                f"give it one in input_params or input_vars, such as decl int {name} = 100;",
            )
        init: Any = "random" if value is None else value
        inputs.append(RegionInput(name=name, dtype=ELEMENTS[types[name]], init=init))
    return inputs


def _check_memory(inputs: Sequence[RegionInput]) -> None:
    total = sum(each.nbytes for each in inputs)
    free = available_bytes()
    if free is not None and total > _SHARE * free:
        raise UsageError(
            f"the inputs take {total / 2**30:.1f} GiB, more than 15% of the free memory",
            "choose a smaller size with --set NAME=VALUE",
        )


def command_of(spec: TuningSpec | None, values: Mapping[str, object] | None = None) -> str:
    """Return a build command with its parameters put in; with their first values the original body is built."""
    if spec is None:
        return "cc -O3"
    words: dict[str, object] = {each.name: each.values[0] for each in (*spec.inputs, *(() if values else spec.params))}
    return substitute(str(spec.arg("build", "build_command") or "cc -O3"), {**spec.lets, **words, **(values or {})})


def command_notes(spec: TuningSpec) -> tuple[str, ...]:
    """Return what is to be said about a specification's build command."""
    names = {*spec.lets, *(each.name for each in (*spec.inputs, *spec.params))}
    missing = unknown_parameters(str(spec.arg("build", "build_command") or ""), names)
    notes = [f"the build command uses @{name[:40]}, which is no parameter, so it is empty" for name in missing]
    with contextlib.suppress(UsageError):  # what is refused is said where it is built, with what the user permits
        notes += parse_build_command(command_of(spec)).notes
    return tuple(notes)


def region_types(
    site: RegionGroup, variables: Mapping[str, str], numbers: Mapping[str, int | float], *, device: bool = False
) -> dict[str, str]:
    """Return C's types of a site's scalars and arrays' elements; counters that nobody declares are ``int``."""
    code = site.filled([loop.old for loop in site.loops])
    line = site.region.line
    types = {name: each.ctype for name, each in site.parameters.items()}
    for name, ctype in variables.items():
        declared = site.parameters.get(name)
        if declared is not None and declared.ctype != ctype:
            raise UsageError(
                f"the file declares {name!r} as {declared.ctype}, its specification of line {line} as {ctype}",
                "give both one type",
            )
        types[name] = ctype
    types |= {node.name: node.ctype for node in tree.every(code, tree.Declare) if node.ctype != "void"}
    types |= {name: "int" if isinstance(value, int) else "double" for name, value in numbers.items()}
    for loop in tree.loops(code):
        types.setdefault(loop.index, loop.ctype or "int")
    arrays = tree.elements(code)
    names = tree.scalars(code) if site.spec is not None or device else tree.assigned(code)
    names |= arrays if device else set()
    missing = sorted(names - types.keys())
    if missing:
        raise UsageError(
            f"{missing[0]!r} in the region of line {line} is declared as a number neither in the file nor in a "
            "specification",
            f"types are {', '.join(sorted(INTEGER_TYPES | REAL_TYPES))}; declare it before the region or in input_vars",
        )
    unbound = sorted(arrays - variables.keys() - tree.declared(code)) if site.spec is not None else []
    if unbound:
        raise UsageError(
            f"the array {unbound[0]!r} in the region of line {line} has no extents in the specification",
            f"add decl TYPE {unbound[0]}[EXTENT] = random; to input_vars",
        )
    return types


def file_value(site: RegionGroup, name: str) -> int | None:
    """Return the whole number that the file gives to a scalar before the region, or None."""
    text = site.values.get(name)
    if text is None:
        return None
    try:
        expr = parse_expression(text, "a declaration")
    except UsageError:
        return None
    texts = {other: each for other, each in site.values.items() if other != name}
    value = evaluate(expr, {other: int(each) for other, each in texts.items() if re.fullmatch("0|[1-9][0-9]*", each)})
    return value if isinstance(value, int) else None
