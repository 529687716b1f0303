"""The new file: every region's old body replaced by what won, behind a dispatcher where there are several sizes."""

import re
from collections.abc import Mapping, Sequence

from tilewright.workloads.annotated.lower.harness import region_text
from tilewright.workloads.annotated.lower.lowering import code
from tilewright.workloads.annotated.lower.lowering import text as expression_text
from tilewright.workloads.annotated.nests.nest import Num
from tilewright.workloads.annotated.parse.evaluate import Plain
from tilewright.workloads.annotated.parse.file import LoopRegion, RegionGroup
from tilewright.workloads.annotated.verbs.result import SiteResult, SizeResult


def replaced(text: str, results: Sequence[tuple[RegionGroup, SiteResult]]) -> str:
    """Return a file's text with its regions' old bodies replaced; results come in the order of the text.

    The annotations stay, so that the file can be tuned again.
    """
    changes: list[tuple[int, int, str]] = []
    heads: list[str] = []
    for site, result in results:
        heads += [size.extra.get("_prelude", "") for size in result.sizes]
        for number, loop in enumerate(site.loops):
            if loop.region.body(text).strip() and not any(map(_new, result.sizes)):
                continue
            body = _body(number, _old(text, loop), result)
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


def joined(heads: Sequence[str]) -> str:
    r"""Join what several bodies need at the top of a file; definitions stand apart by empty lines, and equal ones once.

    >>> joined(["#include <a.h>\n\nint a;\n", "", "#include <a.h>\n\nint b;\n"])
    '#include <a.h>\n\nint a;\n\nint b;\n\n'
    """
    parts = (part.strip("\n") for head in heads for part in head.split("\n\n"))
    return "".join(f"{part}\n\n" for part in dict.fromkeys(parts) if part)


def _old(text: str, loop: LoopRegion) -> str:
    """Return the original body as the file has it, or the annotation's own code where there is none."""
    body = loop.region.body(text)
    return f"    {{\n{body.rstrip()}\n    }}\n" if body.strip() else region_text(loop.old, 2)


def _new(size: SizeResult) -> bool:
    """Whether something else than the original body runs at a size."""
    return size.made and not size.extra.get("kept_original")


def _body(number: int, old: str, result: SiteResult) -> str:
    """Return what replaces one region's old body, which runs wherever the new one was not made for the call."""
    several = len(result.sizes) > 1
    branches: dict[str, str] = {}
    for place, size in enumerate(result.sizes):
        if not _new(size):
            continue
        told = result.guards[place].items() if several else ()
        conditions = size.conditions[number] if size.conditions else ()
        tests = dict.fromkeys([*(f"{name} == {_literal(value)}" for name, value in told), *conditions])
        new = _comment(size, result) + _code(number, size)
        if not tests:
            # It is right for every call, and nothing tells its size from those behind it.
            return _chain(branches, new)
        branches.setdefault(" &&\n      ".join(tests), new)
    why = "another size" if several else "another call than the code above is for"
    return _chain(branches, f"    /* {why}: the original body */\n{old}" if branches else old)


def _chain(branches: Mapping[str, str], last: str) -> str:
    """Return code that is chosen by the first condition that holds."""
    if not branches:
        return last
    texts = [f"if ({test}) {{\n{branch}" for test, branch in branches.items()]
    return "  " + "  } else ".join([*texts, f"{{\n{last}"]) + "  }\n"


def _code(number: int, size: SizeResult) -> str:
    return size.text[number] if size.text else region_text(size.bodies[number])


def _comment(size: SizeResult, result: SiteResult) -> str:
    values = ", ".join(f"{name}={value}" for name, value in size.values.items())
    command = " ".join(size.command)
    parts = [f"tuned: {values}" if result.tuned and values else "transformed", f"build: {command}" if command else ""]
    said = re.sub(r"\*/|/\*|@", " ", "; ".join(part for part in parts if part))
    return f"  /* {said} */\n"


def _literal(value: Plain) -> str:
    return expression_text(Num(repr(int(value) if isinstance(value, bool) else value)))
