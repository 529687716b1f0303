"""The new file: every region's old body replaced by what won, behind a dispatcher where there are several sizes."""

import re
from collections.abc import Sequence

from tilewright.api.annotate_result import SiteResult, SizeResult
from tilewright.codegen.loops_c import text as expression_text
from tilewright.codegen.loops_harness import region_text
from tilewright.frontends.annotated_eval import Plain
from tilewright.frontends.annotated_file import LoopRegion, Site
from tilewright.programs.loopnest import Num


def replaced(text: str, results: Sequence[tuple[Site, SiteResult]], backend: str) -> str:
    """Return a file's text with its regions' old bodies replaced.

    The annotations stay, so that the file can be tuned again.

    Args:
        text: The annotated file.
        results: Its sites, in order.
        backend: What was generated.
    """
    del backend
    changes: list[tuple[int, int, str]] = []
    heads: list[str] = []
    for site, result in results:
        heads += [size.extra.get("_prelude", "") for size in result.sizes]
        for number, loop in enumerate(site.loops):
            changes.append((loop.region.body_start, loop.region.body_end, _body(number, loop, result)))
    out: list[str] = []
    place = 0
    for start, end, new in changes:
        out += [text[place:start], "\n", new]
        place = end
    out.append(text[place:])
    return "".join([*dict.fromkeys(head for head in heads if head), *out])


def _body(number: int, loop: LoopRegion, result: SiteResult) -> str:
    """Return what replaces one region's old body."""
    if len(result.sizes) == 1:
        return _comment(result.sizes[0], result) + _code(number, result.sizes[0])
    out: list[str] = []
    for size in result.sizes:
        test = " && ".join(f"{name} == {_literal(value)}" for name, value in size.numbers.items())
        out.append(f"  {'} else ' if out else ''}if ({test}) {{\n{_comment(size, result)}{_code(number, size)}")
    out.append(f"  }} else {{\n    /* another size: the original body */\n{region_text(loop.old, 2)}  }}\n")
    return "".join(out)


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
