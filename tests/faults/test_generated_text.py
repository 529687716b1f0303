"""Names of a caller's in generated texts: in comments alone, which they do not end; in pages and pictures as text."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import TraceError, UsageError
from tilewright.codegen.export import banner, header
from tilewright.codegen.gpu.emit import emit_device
from tilewright.codegen.print.base import in_comment
from tilewright.driver import emit_tilings
from tilewright.programs.stencil.expression import Scalar, Value
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.runtime.formats import series
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

MARK = "QzX"  # names of functions are in small letters, guards of headers in capitals
NAMES = (
    f"{MARK}*/{MARK}/*",
    f"{MARK}**//{MARK};/*",
    f'{MARK}\n#include "{MARK}"\n',
    f'{MARK}"{MARK}',
    f"{MARK}\\",
    f"*\\\n/{MARK}/*",
    f"*??/\n/{MARK}",
    f"{MARK}'",
    f"*/{MARK}/*",
    f"*/ */ {MARK}",
    f"%s{MARK}%n",
    f"`{MARK}`$({MARK})",
    f"{MARK}\r*/{MARK}",
    f"<script>{MARK}</script>",
    f'{MARK}" onload="{MARK}',
    f"&{MARK};",
    f"{MARK}</text><script>",
    f"{MARK}]]>",
    f"\u2028{MARK}é",
    f"// {MARK}",
    f"#define {MARK}",
    f"{MARK}*",
    f"/{MARK}",
)
TILINGS = ("none", "hybrid:t=4,s=8x8", "streaming:t=2,s=16x64", "skewed:t=4,s=8x8")


def seen_by_a_compiler(text):
    """What is left of a text once trigraphs, joined lines and comments are gone, in the order of the C standard."""
    text = text.replace("\r", "\n").replace("??/", "\\").replace("\\\n", "")
    return re.sub(r"//[^\n]*", " ", re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL))


def program_named(name, field="u", scalar="k"):
    u = FieldBuilder(field)
    return stencil(name, 2, {field: u[0, 0] + Value(Scalar(scalar)) * (u[-1, 0] + u[1, 0])}, summary=name)


def few_of(*chosen):
    """Some names by default, the others in the stress run."""
    some = [NAMES[number] for number in chosen]
    others = [name for name in NAMES if name not in some]
    return pytest.mark.parametrize("names", [some, pytest.param(others, marks=pytest.mark.stress)], ids=["few", "all"])


@few_of(0, 5, 6)
def test_no_name_leaves_the_comments_of_generated_code(tally, names):
    texts = 0
    for name in names:
        problem = make_problem(program_named(name), (48, 64), 6, "float32")
        for tiling in map(parse, TILINGS):
            source = emit_tilings([(problem, tiling)])
            made = [source.text, banner(problem, tiling, name), header(source, problem, tiling)]
            if tiling.family == "hybrid":
                plan = gpu_schedule(problem, tiling)
                made += [emit_device(problem, plan, dialect, strict=False).text for dialect in ("opencl", "cuda")]
            for text in made:
                assert MARK not in seen_by_a_compiler(text), (name, tiling)
            texts += len(made)
    tally(f"generated texts of programs with hostile names: {texts}, none leaves its comment")


@pytest.mark.parametrize("name", [*NAMES, "", "1u", "a b", "u[0]", "u-v"])
def test_fields_and_scalars_have_names_of_variables(name):
    for given in ({"field": name}, {"scalar": name}):
        with pytest.raises(TraceError, match="has a name as variables have"):
            program_named("plain", **given)


@pytest.mark.parametrize("name", NAMES)
def test_a_comment_is_not_ended_by_what_it_holds(name):
    assert seen_by_a_compiler(f"/* {in_comment(name)} */").strip() == ""


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [name for name, _ in attrs]


@few_of(13, 14, 17)
def test_pages_and_pictures_hold_names_as_text(folders, tally, names):
    for name in names:
        plan = tw.tune(program_named(name), shape=(64, 64), steps=4, effort="none", k=0.1)
        page = Page(plan._repr_html_())
        assert "script" not in page.tags
        assert not [each for each in page.attributes if each.startswith("on")]
    tally(f"pages with hostile names: {len(names)}, no script")


def test_vtk_holds_names_as_text():
    for name in NAMES:
        text = series.image_data({name: np.zeros((3, 4), np.float32)}, series.Layout(dims=("y", "x")))
        (array,) = ET.fromstring(text).iter("DataArray")  # noqa: S314  (made by this test)
        assert MARK in array.attrib["Name"]


def test_a_file_of_c_is_the_only_target_of_an_export(folders):
    plan = tw.tune("heat2d", shape=(64, 64), steps=4, effort="none")
    (folders / "marked*").mkdir()
    for name in ("marked*/marked.c", 'mar"marked.c', "marked marked.c", "-omarked.c"):
        first, second = plan.export(folders / name)
        assert "marked" not in first.read_text() + second.read_text()
    with pytest.raises(UsageError, match="ends in \\.c"):
        plan.export(folders / "Makefile")
