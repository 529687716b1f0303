"""An annotated file as a whole: its regions with their code read, the code around them, the files they name."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.paths import read_bounded
from tilewright.frontends.annotated import macros
from tilewright.frontends.annotated.c import parse_code, parse_unit, without_transforms
from tilewright.frontends.annotated.language import MAX_FILE, Region, regions
from tilewright.frontends.annotated.modules import MODULES, module_of
from tilewright.frontends.annotated.scope import VisibleNames, assigned, open_braces, rest_of_function, visible
from tilewright.frontends.annotated.spec import TuningSpec, read_spec
from tilewright.programs.loops.counters import read_outside, settle
from tilewright.programs.loops.nest import (
    Assign,
    Block,
    Declare,
    Name,
    Stmt,
    Transform,
    counters,
    map_statements,
    statements,
)

LOOPS = frozenset({"Loop", "Loops"})
PASSED = frozenset({"Align"})
"""Modules whose annotation is accepted and has no effect: only what is inside counts."""
STENCILS = frozenset({"Stencil"})
_MARK = "tw_region_"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRegion:
    """A region of loops.

    Attributes:
        region: Where it is.
        code: What the annotation says, transforms included.
        old: The old body, or the annotation's code without transforms where the old body is empty.
        text: The old body's own text, without comments and with its macros expanded.
        finals: What the old body's counters are left with, where they are read behind it.
        stencil: Text of a stencil expression, for the module ``Stencil``.
        notes: What was noticed.
    """

    region: Region
    code: Stmt
    old: Stmt
    text: str = ""
    finals: tuple[Assign, ...] = ()
    stencil: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionGroup:
    """Regions that belong together: those of one specification, or one region without any.

    Attributes:
        region: The outermost region.
        spec: The specification, or None.
        around: The code inside the specification's region, a mark for every region of loops.
        loops: Those regions.
        text: The text of the code around, the old bodies' own texts in it.
        parameters: Scalars and arrays that the file declares where the region stands.
        values: Numbers that the file gives to scalars and never changes, as texts.
        behind: Names in the rest of the function, and those whose values outlive it.
    """

    region: Region
    spec: TuningSpec | None
    around: Stmt
    loops: tuple[LoopRegion, ...]
    text: str = ""
    parameters: Mapping[str, Declare] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    behind: frozenset[str] = frozenset()

    def filled(self, bodies: Sequence[Stmt]) -> Stmt:
        """Return the code with a body in the place of every region."""

        def change(node: Stmt) -> Stmt:
            number = _number(node)
            return node if number is None else bodies[number]

        return map_statements(self.around, change)

    @property
    def inside_loop(self) -> bool:
        """Whether the code around has loops of its own."""
        return not all(isinstance(node, Block | Assign | Declare) for node in statements(self.around))


def _number(node: Stmt) -> int | None:
    if isinstance(node, Assign) and isinstance(node.target, Name) and node.target.name.startswith(_MARK):
        return int(node.target.name[len(_MARK) :])
    return None


def read_text(path: Path) -> str:
    """Read an annotated file.

    Raises:
        UsageError: If it cannot be read, is too large, or is no text.
    """
    data = read_bounded(path, MAX_FILE, "annotated file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _no_files(name: str) -> str:
    raise UsageError(f"the file {name[:60]!r} is named, but there is no folder to look in")


def read_file(text: str, load: Callable[[str], str] = _no_files) -> tuple[RegionGroup, ...]:
    """Read an annotated file's text.

    Args:
        text: The text.
        load: Returns the text of a file that it names, such as an imported specification.

    Returns:
        The sites in order.

    Raises:
        UsageError: If anything in it is not as it must be, or it has two specifications one inside the other.
    """
    found = regions(text)
    if not found:
        raise UsageError("the file has no annotated region", "such as /*@ begin Loop( … ) @*/ … /*@ end @*/")
    return tuple(_site(text, region, load) for region in found)


def _site(text: str, region: Region, load: Callable[[str], str]) -> RegionGroup:
    before = macros.without_comments(text[: region.start])
    known = _macros_before(before)
    spec = None
    if region.module == "PerfTuning":
        spec = read_spec(region.code, region.line, load)
        inner = _flat(region.inner)
    else:
        inner = _flat((region,))
    if spec is not None and not inner:
        raise UsageError(f"the tuning specification of line {region.line} has no region of loops inside")
    around = _around(text, region, inner) if spec is not None else "".join(_mark(n) for n in range(len(inner)))
    plain, known = macros.preprocess(around, known)
    code = parse_code(plain, f"the code around line {region.line}")
    loops = tuple(_loop_region(text, each, known, load) for each in inner)
    scope = _scope(before, text[region.end :])
    types = {name: each.ctype for name, each in scope.declared.items()}
    types |= {each.name: each.ctype for each in spec.variables} if spec is not None else {}
    types |= {node.name: node.ctype for node in statements(code) if isinstance(node, Declare)}
    loops = tuple(
        _settled(each, [code, *(other.old for other in loops if other is not each)], types, text, scope)
        for each in loops
    )
    return RegionGroup(
        region=region,
        spec=spec,
        around=code,
        loops=loops,
        text=re.sub(rf"\b{_MARK}(\d+) = 0;", lambda mark: loops[int(mark[1])].text, plain),
        parameters=scope.declared,
        values={**_plain_macros(known), **scope.values},
        behind=frozenset(re.findall(r"[A-Za-z_]\w*", " ".join(_rest(text, region)))) | scope.lasting,
    )


def _plain_macros(known: Mapping[str, macros.Macro]) -> dict[str, str]:
    """Return the macros without parameters that stand for one word, as texts."""
    return {name: each.body[0] for name, each in known.items() if each.parameters is None and len(each.body) == 1}


def _settled(
    loop: LoopRegion, others: Sequence[Stmt], types: Mapping[str, str], text: str, scope: VisibleNames
) -> LoopRegion:
    """Return a region whose counters have types, with the values of those that are read behind their loops."""
    behind = _rest(text, loop.region)
    live = {
        name
        for name in counters(loop.old)
        if name in types
        and (name in scope.lasting or read_behind(behind, name) or any(read_outside(each, name) for each in others))
    }

    where = f"the region of line {loop.region.line}"
    old, finals = settle(loop.old, live, types, where)
    return replace(loop, old=old, code=settle(loop.code, (), types, where)[0], finals=finals)


def _scope(before: str, behind: str) -> VisibleNames:
    """Return what the file declares before a region."""
    try:
        plain = macros.preprocess(before, {})[0]
    except UsageError:
        # A directive that is not followed here stays without effect, as it has always been for the text around.
        plain = re.sub(r"^[ \t]*#.*$", "", before.replace("\\\n", "  "), flags=re.MULTILINE)
    scope = visible(plain)
    later = behind if scope.lasting else ""
    values = {
        name: value
        for name, value in scope.values.items()
        if name not in scope.lasting or not (assigned(name, later) or assigned(name, _tail(plain, name)))
    }
    return VisibleNames(declared=scope.declared, values=values, lasting=scope.lasting)


def _tail(text: str, name: str) -> str:
    """Return a text behind the first mention of a name, which declares it."""
    match = re.search(rf"\b{re.escape(name)}\b\s*=?", text)
    return "" if match is None else text[match.end() :]


def _macros_before(text: str) -> dict[str, macros.Macro]:
    lines = [line for line in text.replace("\\\n", " ").split("\n") if re.match(r"\s*#\s*define\b", line)]
    return macros.defined(lines)


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


def _mark(number: int) -> str:
    return f"\n{_MARK}{number} = 0;\n"


def _around(text: str, region: Region, inner: Sequence[Region]) -> str:
    """Return a specification's body with marks in the place of its regions, without comments."""
    out: list[str] = []
    place = region.body_start
    for number, each in enumerate(inner):
        out += [macros.without_comments(_no_annotations(text[place : each.start])), _mark(number)]
        place = each.end
    out.append(macros.without_comments(_no_annotations(text[place : region.body_end])))
    return "".join(out)


def _no_annotations(text: str) -> str:
    return re.sub(r"^[ \t]*#[ \t]*pragma[ \t]+Oi?r?i?o.*$", "", text, flags=re.MULTILINE)


def _loop_region(
    text: str, region: Region, known: Mapping[str, macros.Macro], load: Callable[[str], str]
) -> LoopRegion:
    where = f"the region of line {region.line}"
    # The generated code replaces the whole old body, so what is annotated inside it is a part of that.
    inner = ", ".join(str(each.line) for each in region.inner)
    notes = [f"the annotation of line {inner} is inside the region's old body, so it has no effect"] if inner else []
    filled = _filled(text, region, with_code=False)
    body = macros.preprocess(macros.without_comments(_no_annotations(filled)), known)[0]
    old: Stmt | None = None
    if body.strip():
        try:
            old = parse_code(body, f"the old body of line {region.line}")
        except UsageError as error:
            if region.module in MODULES:
                raise
            notes.append(f"{error.message}; the annotation's own code stands for it")
    if region.module in STENCILS:
        if old is None:
            raise UsageError(f"{where} needs an old body, which says what the stencil replaces")
        return LoopRegion(region=region, code=Block(()), old=old, text=body, stencil=region.code, notes=tuple(notes))
    if region.module in MODULES:
        return _module_region(text, region, known, load, (old, body))
    said = macros.preprocess(macros.without_comments(region.code), known)[0]
    code = parse_code(said, where)
    if _bare(code) and old is not None:
        code = _with_body(code, old)
    plain = map_statements(code, lambda node: node.body if isinstance(node, Transform) else node)
    if old is None and plain == Block(()):
        raise UsageError(f"{where} is empty")
    return LoopRegion(
        region=region,
        code=code,
        old=plain if old is None else old,
        text=without_transforms(said) if old is None else body,
        notes=tuple(notes),
    )


def _module_region(
    text: str,
    region: Region,
    known: Mapping[str, macros.Macro],
    load: Callable[[str], str],
    found: tuple[Stmt | None, str],
) -> LoopRegion:
    """Return a region of one of the original tool's other modules; annotations inside its old body are carried out."""
    where = f"the region of line {region.line}"
    name, arguments, loops = module_of(region.module, macros.expand(region.code, known), where, load)
    old, body = found
    if old is None:
        body = macros.expand(loops, known)
        old = parse_code(body, where) if loops else None
    if old is None:
        raise UsageError(f"{where} is empty", f"{name} stands before the loops that it transforms")
    code = old
    if region.inner:
        said = _filled(text, region, with_code=True)
        code = parse_code(macros.preprocess(macros.without_comments(_no_annotations(said)), known)[0], where)
    return LoopRegion(region=region, code=Transform(name, arguments, code), old=old, text=body)


def _filled(text: str, region: Region, *, with_code: bool) -> str:
    """Return a region's old body; one of loops inside it stands for its own old body, or its code if that is empty.

    Args:
        text: The file.
        region: The region.
        with_code: Whether the code of inner annotations stands for their old bodies, transforms included.
    """
    out: list[str] = []
    place = region.body_start
    for each in region.inner:
        own = _filled(text, each, with_code=with_code)
        if each.module in LOOPS:
            code = macros.without_comments(each.code)
            empty = not macros.without_comments(_no_annotations(own)).strip()
            bare = not without_transforms(code).strip(" \t\r\n;")
            if with_code:
                own = f"{code} {own}" if bare else code
            elif empty:
                own = without_transforms(code)
        out += [text[place : each.start], f"\n{own}\n"]
        place = each.end
    return "".join([*out, text[place : region.body_end]])


def _bare(code: Stmt) -> bool:
    """Whether code is transforms with nothing to transform."""
    while isinstance(code, Transform):
        code = code.body
    return code == Block(())


def _with_body(code: Stmt, body: Stmt) -> Stmt:
    if isinstance(code, Transform):
        return Transform(code.name, code.arguments, _with_body(code.body, body))
    return body


def _rest(text: str, region: Region) -> tuple[str, ...]:
    """Return what follows a region in its function, without comments, cut where blocks around the region end."""
    try:
        before, plain = (macros.without_comments(part) for part in (text[: region.start], text[region.end :]))
    except UsageError:
        before, plain = text[: region.start], text[region.end :]
    return rest_of_function(plain, open_braces(before))


def read_behind(rest: Sequence[str], name: str) -> bool:
    """Whether a variable may be read before it is assigned.

    >>> read_behind(["for (i = 0; i < n; i++) y[i] = 0;"], "i"), read_behind(["if (c) i = 0; y[0] = i;"], "i")
    (False, True)

    Args:
        rest: What is behind a place, cut where blocks around it end.
        name: The variable.
    """
    for whole in rest:
        part = _without_own_loops(whole, name)
        first = re.search(rf"\b{re.escape(name)}\b", part)
        if first is None:
            continue
        before = part[: first.start()]
        plain = before.count("{") == before.count("}") and re.search(r"(?:^|[;{}])\s*(?:for\s*\(\s*)?$", before)
        # What stands behind else is passed over.
        return not plain or re.match(r"\s*else\b", part) is not None or not re.match(r"\s*=(?!=)", part[first.end() :])
    return False


def _without_own_loops(text: str, name: str) -> str:
    """Return a text without the loops that count with a variable from a first value: they read what they set.

    >>> _without_own_loops("for (i = 0; i < n; i++) { y[i] = 0; } z = i;", "i").strip()
    '; z = i;'
    """
    head = re.compile(rf"\bfor\s*\(\s*{re.escape(name)}\s*=(?!=)(?P<first>[^;{{}}]*);")
    place = 0
    while (match := head.search(text, place)) is not None:
        end = _statement_end(text, match.start())
        if end < 0 or re.search(rf"\b{re.escape(name)}\b", match["first"]):
            place = match.end()
            continue
        text = f"{text[: match.start()]};{text[end:]}"
        place = match.start() + 1
    return text


def _statement_end(text: str, start: int) -> int:
    """Return where a ``for`` statement ends, its body included; -1 where that is not in the text."""
    depth, place, headed = 0, start, False
    while place < len(text):
        character = text[place]
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return -1
        if character == ")" and depth == 0 and not headed:
            # A body that is a statement of its own kind begins with a head again.
            headed = re.match(r"\s*(?:for|if|while|switch)\b", text[place + 1 :]) is None
        elif headed and depth == 0 and character in ";}":
            rest = re.match(r"\s*else\b", text[place + 1 :])
            if rest is None:
                return place + 1
            return -1
        place += 1
    return -1


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFiles:
    """What files named by a specification declare.

    Attributes:
        variables: Variables with their extents, in terms of the input's parameters.
        init: Code that gives them their first values.
    """

    variables: tuple[Declare, ...] = ()
    init: Stmt = field(default_factory=lambda: Block(()))


def read_input_files(
    names: Sequence[str], defines: Sequence[tuple[str, str]], load: Callable[[str], str]
) -> InputFiles:
    """Read the files that declare and initialise a specification's inputs.

    Args:
        names: Their names.
        defines: What the build command defines.
        load: Returns the text of a file.

    Returns:
        Variables and code.

    Raises:
        UsageError: If they are no declarations and loops.
    """
    known = {name: macros.Macro(parameters=None, body=(value,)) for name, value in defines}
    variables: dict[str, Declare] = {}
    bodies: dict[str, Stmt] = {}
    for name in names:
        plain, known = macros.preprocess(macros.without_comments(load(name)), known)
        declared, functions = parse_unit(plain, f"the file {name[:60]!r}")
        variables |= {each.name: each for each in declared}
        bodies |= functions
    code: list[Stmt] = []
    for body in bodies.values():
        items = body.body if isinstance(body, Block) else (body,)
        for item in items:
            if isinstance(item, Declare) and item.ctype == "void":
                before = variables.get(item.name)
                if before is not None:
                    variables[item.name] = Declare(ctype=before.ctype, name=item.name, dims=item.dims, heap=True)
        rest = tuple(item for item in items if not (isinstance(item, Declare) and item.ctype == "void"))
        code.append(Block(rest))
    return InputFiles(variables=tuple(variables.values()), init=Block(tuple(code)))


def sibling(folder: Path, name: str) -> str:
    """Read a file beside an annotated file.

    Raises:
        UsageError: If the name is no plain file name, or the file cannot be read.
    """
    if not re.fullmatch(r"[\w.+-]{1,100}", name) or name.startswith("."):
        raise UsageError(f"a specification names files beside itself, got {name[:60]!r}")
    path = folder / name
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"the file {name!r} that the specification names is not beside it")
    return read_text(path)
