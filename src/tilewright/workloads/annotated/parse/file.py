"""An annotated file as a whole: its regions with their code read, the code around them, the files they name.

A region is a structured comment, the code that it annotates, and a closing comment::

    /*@ begin Loop( transform Unroll(ufactor=4) for (i=0; i<=n-1; i++) y[i] = 0; ) @*/
    for (i=0; i<=n-1; i++) y[i] = 0;
    /*@ end @*/

``begin`` and ``end`` may be left out, and ``#pragma Orio Loop(…)`` … ``#pragma Oiro`` is the same. Regions nest: a
``PerfTuning`` region holds the regions that it tunes.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.paths import read_bounded
from tilewright.workloads.annotated.lower.apply import MODULES, TRANSFORMS
from tilewright.workloads.annotated.nests import nest
from tilewright.workloads.annotated.nests.counters import settle
from tilewright.workloads.annotated.nests.nest import Assign, Block, Declare, Stmt, Transform
from tilewright.workloads.annotated.nests.scalars import distinct_names
from tilewright.workloads.annotated.nests.values import INTEGER_TYPES, NARROW
from tilewright.workloads.annotated.parse import macros
from tilewright.workloads.annotated.parse.c import parse_code, parse_unit, without_transforms
from tilewright.workloads.annotated.parse.spec import TuningSpec, arguments, find, no_files, read_spec, uncommented
from tilewright.workloads.annotated.parse.surroundings import BEGIN, END, Place, surroundings

MAX_FILE = 2**20  # largest annotated file, characters
MAX_REGIONS = 256
MAX_NESTING = 8
# Texts and other comments are found, too, so that no mark is found in them.
_ANNOTATION = re.compile(
    r"/\*[ \t]?@|^[ \t]*\#[ \t]*pragma[ \t]+(?P<pragma>Orio|Oiro)\b"
    f"|(?P<other>{macros.LITERAL}|{macros.COMMENT})",
    re.MULTILINE | re.DOTALL,
)
_LOGICAL_LINE = re.compile(r"(?:[^\n]|(?<=\\)\n)*")
_CLOSE = re.compile(r"@[ \t]?\*/")
_MODULE = re.compile(r"(?:begin\b\s*)?(?P<module>[A-Za-z_]\w*)\s*\(")
_TAILS = frozenset({"", "end", ";", "end;"})
LOOPS = frozenset({"Loop", "Loops"})
PASSED = frozenset({"Align"})  # modules whose annotation is accepted and has no effect: only what is inside counts
STENCILS = frozenset({"Stencil"})
_CHILL = ("permute", "tile", "unroll")
_QUIET = frozenset({"original", "known", "print", "print_code", "remove_dep"})  # commands of CHiLL that have no effect
_HEAD = re.compile(r"\s*(?:source|procedure|format|loop)\s*:.*$", re.MULTILINE)
_COMMAND = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*\(")
_FILE = re.compile(r"\s*(?:transform\s+Recipe\s*\()?\s*['\"]?(?P<name>[\w-]+\.\w+)['\"]?\s*\)?\s*")
_PRODUCT = """for (int tw_row = 0; tw_row <= {total_rows} - 1; tw_row++) {{
  {out_vector}[tw_row] = {init_val};
  for (int tw_at = {row_inds}[tw_row]; tw_at <= {row_inds}[tw_row + 1] - 1; tw_at++)
    {out_vector}[tw_row] += {in_matrix}[tw_at] * {in_vector}[{col_inds}[tw_at]];
}}
"""
_MARK = "tw_region_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """An annotated region."""

    module: str  # what its annotation asks for, such as ``Loop`` or ``PerfTuning``
    code: str  # what stands in the annotation's parentheses
    line: int  # line of the annotation, from 1
    start: int  # offset of the annotation in the file
    body_start: int  # offset of the old body
    body_end: int = -1  # offset of its end
    end: int = -1  # offset behind the closing annotation
    inner: "tuple[Region, ...]" = ()  # regions inside the old body
    pragma: bool = False  # whether it is written with ``#pragma``

    def body(self, text: str) -> str:
        """Return the old body."""
        return text[self.body_start : self.body_end]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRegion:
    """A region of loops."""

    region: Region  # where it is
    code: Stmt  # the annotation's, transforms included
    old: Stmt  # the old body; where it is empty, the annotation's code without transforms
    text: str = ""  # the old body's own text, without comments and with its macros expanded
    finals: tuple[Assign, ...] = ()  # what the old body's counters are left with, where read behind it
    live: frozenset[str] = frozenset()  # names of the old body whose values may be read behind it
    stencil: str = ""  # text of a stencil expression, for the module ``Stencil``
    notes: tuple[str, ...] = ()  # what was noticed


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionGroup:
    """Regions that belong together: those of one specification, or one region without any."""

    region: Region  # the outermost region
    spec: TuningSpec | None  # None for a region without one
    around: Stmt  # the code inside the specification's region, with a mark for every region of loops
    loops: tuple[LoopRegion, ...]  # the marked regions
    text: str = ""  # of ``around``, with the old bodies' own texts
    # scalars and arrays that the file declares where the region stands
    parameters: Mapping[str, Declare] = field(default_factory=dict)
    # numbers that the file gives to scalars and never changes, as texts
    values: Mapping[str, str] = field(default_factory=dict)
    arrays: AbstractSet[str] = frozenset()  # names of arrays that are objects of their own, not pointers or parameters
    restricted: AbstractSet[str] = frozenset()  # names of pointers that the file declares with ``restrict``

    def filled(self, bodies: Sequence[Stmt]) -> Stmt:
        """Return the code with a body in the place of every region."""

        def change(node: Stmt) -> Stmt:
            number = _number(node)
            return node if number is None else bodies[number]

        return nest.map_statements(self.around, change)


def _number(node: Stmt) -> int | None:
    if isinstance(node, Assign) and isinstance(node.target, nest.Name) and node.target.name.startswith(_MARK):
        return int(node.target.name[len(_MARK) :])
    return None


def read_text(path: Path) -> str:
    """Read an annotated file; its lines end in a line feed alone."""
    data = read_bounded(path, MAX_FILE, "annotated file")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n")


def read_file(text: str, load: Callable[[str], str] = no_files) -> tuple[RegionGroup, ...]:
    """Read an annotated file's text; ``load`` returns that of a file that it names."""
    sites = regions(text)
    if not sites:
        raise UsageError("the file has no annotated region", "such as /*@ begin Loop( … ) @*/ … /*@ end @*/")
    places = surroundings(macros.without_comments(_marked_text(text, sites, 0, len(text))))
    return tuple(_site(text, region, load, places) for region in sites)


def regions(text: str) -> tuple[Region, ...]:
    """Find the outermost regions of a file, in order; none where it has no annotation."""
    if len(text) > MAX_FILE:
        raise UsageError(f"an annotated file has at most {MAX_FILE} characters, got {len(text)}")
    if "\0" in text:
        raise UsageError("an annotated file is C text, got one with a zero byte")
    opened: list[Region] = []
    levels: list[list[Region]] = [[]]  # the regions of the file, and those inside every one that is open
    count = position = 0
    while (match := _ANNOTATION.search(text, position)) is not None:
        if match["other"]:
            position = match.end()
            continue
        line = text.count("\n", 0, match.start()) + 1
        said, position = _annotation(text, match, line)
        if match["pragma"] == "Oiro" or (not match["pragma"] and said in _TAILS):
            if not opened:
                raise UsageError(f"line {line} closes a region, but none is open")
            inner = tuple(levels.pop())
            levels[-1].append(replace(opened.pop(), body_end=match.start(), end=position, inner=inner))
            continue
        head = _MODULE.match(said)
        if head is None or not said.endswith(")"):
            raise UsageError(
                f"an annotation is MODULE(code) or end, got {said[:60]!r} at line {line}",
                "such as /*@ begin Loop( … ) @*/",
            )
        count += 1
        if count > MAX_REGIONS or len(opened) >= MAX_NESTING:
            raise UsageError(f"a file has at most {MAX_REGIONS} regions, {MAX_NESTING} deep, got more at line {line}")
        module, code, pragma = head["module"], said[head.end() : -1], bool(match["pragma"])
        start = match.start()
        opened.append(Region(module=module, code=code, line=line, start=start, body_start=position, pragma=pragma))
        levels.append([])
    if opened:
        raise UsageError(
            f"the region {opened[-1].module!r} of line {opened[-1].line} is not closed",
            "write /*@ end @*/ behind its old body" if not opened[-1].pragma else "write #pragma Oiro behind it",
        )
    return tuple(levels[0])


def _annotation(text: str, match: "re.Match[str]", line: int) -> tuple[str, int]:
    if match["pragma"]:
        end = _LOGICAL_LINE.match(text, match.end()).end()  # type: ignore[union-attr]
        return text[match.end() : end].replace("\\\n", "\n").strip(), end
    close = _CLOSE.search(text, match.end())
    if close is None:
        raise UsageError(f"the annotation of line {line} has no '@*/'")
    return text[match.end() : close.start()].strip(), close.end()


def _site(text: str, region: Region, load: Callable[[str], str], places: Mapping[int, Place]) -> RegionGroup:
    table, unsure = macros.defined(macros.without_comments(text[: region.start]))
    if doubts := sorted(unsure & set(re.findall(r"\w+", text[region.start : region.end]))):
        raise UsageError(
            f"the macro {doubts[0]!r} in the region of line {region.line} depends on a conditional that is not known",
            "define the name that it asks for before it",
        )
    spec = None
    if region.module == "PerfTuning":
        spec = read_spec(region.code, region.line, load)
        inner = _flat(region.inner)
    else:
        inner = _flat((region,))
    if spec is not None and not inner:
        raise UsageError(f"the tuning specification of line {region.line} has no region of loops inside")
    around = "".join(map(_mark, range(len(inner))))
    if spec is not None:
        marked = _splice(text, inner, region.body_start, region.body_end, lambda each: _mark(inner.index(each)))
        around = macros.without_comments(
            re.sub(r"^[ \t]*#[ \t]*pragma[ \t]+O(?:rio|iro)\b.*$", "", marked, flags=re.MULTILINE)
        )
    place = places.get(region.start)
    # Names of types are expanded as macros are.
    table |= {
        name: macros.Macro(parameters=None, body=tuple(macros.tokens(ctype)))
        for name, ctype in (place.typedefs.items() if place is not None else ())
        if ctype is not None and name not in table
    }
    plain, table = macros.preprocess(around, table)
    code = parse_code(plain, f"the code around line {region.line}", around=True)
    loops = tuple(_loop_region(text, each, table, load) for each in inner)
    if place is None or any(each.region.start not in places for each in loops):
        raise UsageError(f"what stands around the region of line {region.line} cannot be read as C")
    lasting = {name for name, each in place.scope.items() if each.lasting}
    types = {name: each.ctype for name, each in place.declared.items()}
    types |= {each.name: each.ctype for each in spec.variables} if spec is not None else {}
    types |= {node.name: node.ctype for node in nest.every(code, Declare)}
    values = {name: each.body[0] for name, each in table.items() if each.parameters is None and len(each.body) == 1}
    loops = tuple(_settled_region(each, types, lasting, places[each.region.start]) for each in loops)
    return RegionGroup(
        region=region,
        spec=spec,
        around=code,
        loops=loops,
        text=re.sub(rf"\b{_MARK}(\d+) = 0;", lambda mark: loops[int(mark[1])].text, plain),
        parameters=place.declared,
        values=values | place.values,
        arrays={name for name, each in place.scope.items() if each.own},
        restricted={name for name, each in place.scope.items() if each.restricted},
    )


def _settled_region(loop: LoopRegion, types: Mapping[str, str], lasting: AbstractSet[str], place: Place) -> LoopRegion:
    """Return a region with what lives on behind it, typed counters, and its own variables under distinct names."""
    where = f"the region of line {loop.region.line}"
    for node in (loop.old, *nest.parts(loop.old)):
        if isinstance(node, Declare) and node.ctype != "void" and place.reads(node.name):
            raise UsageError(
                f"{node.name!r}, which {where} declares, is read behind it", "declare it before the region"
            )
    strange = {name: each.words for name, each in place.scope.items() if each.number is None and name not in types}
    old, code = (distinct_names(each, types.keys() | strange) for each in (loop.old, loop.code))
    mentioned = nest.used(old)
    if lost := sorted(mentioned & place.lost - types.keys()):
        raise UsageError(f"{lost[0]!r} in {where} stands in a statement of the file that cannot be read as C")
    for pointer, name in place.function.pointers:
        if {pointer, name} <= mentioned:
            raise UsageError(f"{where} uses {name!r} also through the pointer {pointer!r}", "use one of the two")
    arrays = {name for name, each in place.declared.items() if each.dims} | nest.elements(old) | nest.elements(code)
    bare = sorted(arrays & (nest.scalars(old) | nest.scalars(code)))
    if bare:
        raise UsageError(
            f"{where} uses {bare[0]!r}, an array or a pointer, without a subscript",
            "write its elements, such as p[i]; let pointers point elsewhere before or behind the region",
        )
    live = frozenset(name for name in mentioned if name in lasting or place.reads(name))
    for node in (*nest.loops(old), *nest.loops(code)):
        _check_count(node, strange, live, where)
    old, finals = settle(old, live & nest.counters(old) & types.keys(), types, where)
    return replace(loop, old=old, code=settle(code, (), types, where)[0], finals=finals, live=live)


def _check_count(loop: nest.Loop, strange: Mapping[str, Sequence[str]], live: AbstractSet[str], where: str) -> None:
    """Refuse a loop that counts with a type, or ends at one, of which it is not known how it computes."""
    # What is narrower than an int is computed with as one; only what a counter keeps is of its own type.
    wide = {name for name, words in strange.items() if NARROW.isdisjoint(words)}
    own = set() if loop.ctype else {loop.index}
    bad = own & (wide | strange.keys() & live) | nest.mentioned(loop.first, loop.last) & wide
    if bad:
        name = min(bad)
        raise UsageError(
            f"the loop over {loop.index!r} in {where} counts with {name!r} or ends at it, which the file declares as "
            f"{' '.join(strange[name])!r}",
            f"types are {', '.join(sorted(INTEGER_TYPES))}, and names that a typedef in the file gives them",
        )


def _flat(items: Sequence[Region]) -> list[Region]:
    """Return the regions of loops, those inside modules that are passed over among them."""
    out: list[Region] = []
    for item in items:
        if item.module in LOOPS | STENCILS | MODULES:
            out.append(item)
        elif item.module in PASSED:
            out += _flat(item.inner)
        elif item.module == "PerfTuning":
            raise UsageError(
                f"the tuning specification of line {item.line} is inside another region", "a file has them side by side"
            )
        else:
            raise UsageError(
                "the modules are PerfTuning, Loop, PolySyn, CHiLL, SpMV, Stencil and Align, "
                f"got {item.module[:40]!r} at line {item.line}",
                "say what it does with Loop(transform Composite(…)) before the same loops",
            )
    return out


def _splice(text: str, items: Iterable[Region], start: int, end: int, part: Callable[[Region], str]) -> str:
    out: list[str] = []
    for each in items:
        out += [text[start : each.start], part(each)]
        start = each.end
    return "".join([*out, text[start:end]])


def _marked_text(text: str, items: Iterable[Region], start: int, end: int) -> str:
    """Return a part of a file with regions as blocks between words; an empty old body is that of the annotation."""

    def part(each: Region) -> str:
        body = macros.without_comments(_marked_text(text, each.inner, each.body_start, each.body_end))
        with contextlib.suppress(UsageError):  # it is refused where it is read
            if each.module in LOOPS:
                body = without_transforms(body if body.strip() else macros.without_comments(each.code))
        return f" {{ {BEGIN}{each.start};\n{body}\n; {END}{each.start}; }} "

    return _splice(text, items, start, end, part)


def _mark(number: int) -> str:
    return f"\n{_MARK}{number} = 0;\n"


def _loop_region(
    text: str, region: Region, table: Mapping[str, macros.Macro], load: Callable[[str], str]
) -> LoopRegion:
    where = f"the region of line {region.line}"
    # The generated code replaces the whole old body, so what is annotated inside it is a part of that.
    inner = ", ".join(str(each.line) for each in region.inner)
    notes = []
    if inner and region.module not in MODULES:
        notes.append(f"the annotation of line {inner} is inside the region's old body, so it has no effect")
    own = macros.without_comments(_filled_body(text, region, with_code=False))
    decided = table.keys() | set(re.findall(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)", text[: region.start], re.MULTILINE))
    if name := macros.undecided(own, decided):
        raise UsageError(
            f"{where} depends on whether {name!r} is defined, which the file does not say",
            f"write #define {name} or #undef {name} before it, or put the conditional around the whole region",
        )
    body = macros.preprocess(own, table)[0]
    old: Stmt | None = None
    unread: UsageError | None = None
    if body.strip():
        try:
            old = parse_code(body, f"the old body of line {region.line}")
        except UsageError as error:
            if region.module in MODULES:
                raise
            unread = error
            notes.append(f"{error.message}; the annotation's own code stands for it")
    if region.module in STENCILS:
        if old is None:
            raise UsageError(f"{where} needs an old body, which says what the stencil replaces")
        return LoopRegion(region=region, code=Block(()), old=old, text=body, stencil=region.code, notes=tuple(notes))
    if region.module in MODULES:
        name, args, said = _as_transform(region.module, macros.expand(region.code, table), where, load)
        inside = parse_code(said, where) if old is None else old
        if region.inner:
            # The transforms of the annotations inside the old body belong to it.
            whole = macros.without_comments(_filled_body(text, region, with_code=True))
            inside = parse_code(macros.preprocess(whole, table)[0], where)
        code: Stmt = Transform(name, args, inside)
    else:
        said = macros.preprocess(macros.without_comments(region.code), table)[0]
        code = parse_code(said, where)
    plain = nest.map_statements(code, lambda node: node.body if isinstance(node, Transform) else node)
    if old is not None and plain == Block(()):
        loops = old
        code = nest.map_statements(code, lambda node: loops if node == Block(()) else node)
    elif plain == Block(()):
        raise unread or UsageError(f"{where} is empty", f"{region.module} stands before the loops that it transforms")
    return LoopRegion(
        region=region,
        code=code,
        old=plain if old is None else old,
        text=without_transforms(said) if old is None else body,
        notes=tuple(notes),
    )


def _filled_body(text: str, region: Region, *, with_code: bool) -> str:
    """Return a region's old body; one of loops inside it stands for its own old body, or its code if that is empty."""
    # ``with_code``: the code of inner annotations, transforms included, stands for their old bodies in any case

    def part(each: Region) -> str:
        own = _filled_body(text, each, with_code=with_code)
        if each.module in LOOPS:
            code = macros.without_comments(each.code)
            if with_code:
                own = code if without_transforms(code).strip(" \t\r\n;") else f"{code} {own}"
            elif not macros.without_comments(own).strip():
                own = without_transforms(code)
        return f"\n{own}\n"

    return _splice(text, region.inner, region.body_start, region.body_end, part)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFiles:
    """What files named by a specification declare."""

    variables: tuple[Declare, ...] = ()  # extents in terms of the input's parameters
    init: Stmt = field(default_factory=lambda: Block(()))  # code that sets their first values


def read_input_files(
    names: Sequence[str], defines: Sequence[tuple[str, str]], load: Callable[[str], str]
) -> InputFiles:
    """Read the files that declare and initialise a specification's inputs."""
    table = {name: macros.Macro(parameters=None, body=(value,)) for name, value in defines}
    variables: dict[str, Declare] = {}
    bodies: dict[str, Stmt] = {}
    for name in names:
        plain, table = macros.preprocess(macros.without_comments(load(name)), table)
        declared, functions = parse_unit(plain, f"the file {name[:60]!r}")
        variables |= {each.name: each for each in declared}
        bodies |= functions
    code: list[Stmt] = []
    for body in bodies.values():
        statements: list[Stmt] = []
        for item in nest.sequence(body):
            if not isinstance(item, Declare) or item.ctype != "void":
                statements.append(item)
            elif item.name in variables:
                ctype = variables[item.name].ctype
                variables[item.name] = Declare(ctype=ctype, name=item.name, dims=item.dims, heap=True)
        code.append(Block(tuple(statements)))
    return InputFiles(variables=tuple(variables.values()), init=Block(tuple(code)))


def sibling(folder: Path, name: str) -> str:
    """Read a file beside an annotated file."""
    if not re.fullmatch(r"[\w.+-]{1,100}", name) or name.startswith("."):
        raise UsageError(f"a specification names files beside itself, got {name[:60]!r}")
    path = folder / name
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"the file {name!r} that the specification names is not beside it")
    return read_text(path)


def _as_transform(
    module: str, code: str, where: str, load: Callable[[str], str]
) -> tuple[str, tuple[tuple[str, str], ...], str]:
    """Return a module as a transform: its name, its arguments, and the loops that it stands for, or an empty text."""
    plain = uncommented(code)
    if module in {"CHiLL", "Chill"}:
        file = _FILE.fullmatch(plain)
        return "CHiLL", (("script", _script(load(file["name"]) if file else plain, where)),), ""
    settings = dict(arguments(plain, where, ";"))
    if "" in settings:
        raise UsageError(f"{where} holds NAME = expression; once for every name, got {settings[''][:60]!r}")
    if module == "PolySyn":
        return module, tuple(settings.items()), ""
    selection = tuple((name, value) for name, value in settings.items() if name in TRANSFORMS[module].arguments)
    return module, selection, _product(settings, where)


def _script(text: str, where: str) -> str:
    """Read a script of CHiLL: ``NAME(arguments)``, one after the other; as a list of tuples.

    >>> _script("permute([2,1])  tile(0,1,TI)", "line 1")
    "[('permute',[2,1]),('tile',0,1,TI)]"
    """
    rest = uncommented(_HEAD.sub("", text)).strip(" \t\r\n;")
    commands: list[str] = []
    while rest:
        match = _COMMAND.match(rest)
        end = find(rest, ")", match.end()) if match else -1
        if match is None or end < 0:
            raise UsageError(f"a script of CHiLL is commands with arguments, got {rest[:60]!r} in {where}")
        if match["name"] in _CHILL:
            commands.append(f"('{match['name']}',{rest[match.end() : end].strip()})")
        elif match["name"] not in _QUIET:
            raise UsageError(
                f"the commands of CHiLL here are {', '.join(_CHILL)}, got {match['name'][:40]!r} in {where}",
                "write the transform with Loop(transform Composite(…)), or leave it to the search",
            )
        rest = rest[end + 1 :].lstrip(" \t\r\n;")
    return f"[{','.join(commands)}]"


def _product(settings: dict[str, str], where: str) -> str:
    """Return the loops of a matrix in compressed rows times a vector.

    >>> print(_product(dict.fromkeys("out_vector in_vector in_matrix row_inds col_inds total_rows".split(), "a"), ""))
    for (int tw_row = 0; tw_row <= a - 1; tw_row++) {
      a[tw_row] = 0;
      for (int tw_at = a[tw_row]; tw_at <= a[tw_row + 1] - 1; tw_at++)
        a[tw_row] += a[tw_at] * a[a[tw_at]];
    }
    <BLANKLINE>
    """
    values = {"init_val": "0", "total_rows": settings.get("num_rows", ""), **settings}
    for name in ("out_vector", "in_vector", "in_matrix", "row_inds", "col_inds", "total_rows"):
        if not re.fullmatch(r"[A-Za-z_]\w*|\d+(?:\.\d*)?", values.get(name, "")):
            raise UsageError(f"{where} says {name} = NAME;, got {values.get(name, '')[:40]!r}")
    if not re.fullmatch(r"-?\d+(?:\.\d*)?|[A-Za-z_]\w*", values["init_val"]):
        raise UsageError(f"the init_val of {where} is a number or a name, got {values['init_val'][:40]!r}")
    return _PRODUCT.format(**values)
