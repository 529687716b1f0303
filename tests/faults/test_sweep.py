"""Rows 4 and 5: one sweep full of candidates that crash, never end, do not compile, or are fast and wrong."""

import json
import os
import sys
import time
from collections import Counter

import pytest

import tilewright as tw
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import NONE
from tilewright.tuning.shortlist import effort_level, shortlist
from tilewright.verbs.predict import as_machine
from tilewright.verbs.tuning import meter
from tilewright.verbs.tuning import tune as tuning
from tilewright.verbs.tuning.family_spaces import family_spaces

SHAPE, STEPS = (150, 300), 16
CODES = {
    "crash": "*(volatile int *)0 = 1;",
    "timeout": "for (volatile int i = 0;;) { i = 1; }",
    "wrong": "return;",  # the fastest of all: it computes nothing
    "compile": "#error injected\n",
}
COMPILER = """#!{python} -SE
import json, os, re, sys
faults = json.load(open({table!r}))
for path in sys.argv[1:]:
    if path.endswith(".c"):
        text = open(path).read()
        for entry in set(re.findall(r"void (tw_\\w+)\\(", text)) & set(faults):
            brace = text.index("{{", text.index("void " + entry + "(")) + 1
            text = text[:brace] + "\\n" + faults[entry] + "\\n" + text[brace:]
        open(path, "w").write(text)
os.execvp("cc", ["cc", *sys.argv[1:]])
"""


@pytest.mark.stress
def test_a_sweep_full_of_faults(folders, monkeypatch, tally, running, wait_until):
    """50 crash, 20 never end, 20 do not compile, 50 are fast and wrong: the others are measured, one of them wins."""
    wanted = {"crash": 50, "timeout": 20, "compile": 20, "wrong": 50}
    total = sum(wanted.values()) + 30
    problem = make_problem(program("j2d5pt"), SHAPE, STEPS)
    level = effort_level("exhaustive", None, total)
    first = shortlist(family_spaces(problem, as_machine("host"), every=True), level.candidates)
    entries: dict[str, str] = {}
    for each in first:
        if each.tiling != NONE:
            entries.setdefault(emit_tiling(problem, each.tiling).entry, str(each.tiling))
    kinds = [kind for kind, count in wanted.items() for _ in range(count)]
    # Faults lie on the model's first choices, where they would do the most harm.
    faulty = dict(zip(entries, kinds, strict=False))
    assert Counter(faulty.values()) == wanted, f"only {len(entries)} kernels"
    (folders / "faults.json").write_text(json.dumps({entry: CODES[kind] for entry, kind in faulty.items()}))
    compiler = folders / "faulty-cc"
    compiler.write_text(COMPILER.format(python=sys.executable, table=str(folders / "faults.json")))
    compiler.chmod(0o755)
    monkeypatch.setenv("TILEWRIGHT_CC", str(compiler))
    monkeypatch.setenv("TILEWRIGHT_THREADS", "2")
    monkeypatch.setattr(tuning, "LIMITS", meter.Limits(compile=60.0, check=20.0, least=20.0))
    mark = f"tw-mark-{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv("TW_TEST_MARK", mark)
    plan = tw.tune("j2d5pt", shape=SHAPE, steps=STEPS, effort="exhaustive", candidates=total, progress=False)
    seen, others, odd = Counter(), Counter(), []
    for each in plan.candidates:
        kind = faulty.get(emit_tiling(problem, each.tiling).entry)
        if kind not in {None, str(each.outcome)}:
            odd.append(f"{each.tiling} should be {kind}, is {each.outcome}: {each.detail}")
        (others if kind is None else seen)[str(each.outcome) if kind is None else f"{kind}: {each.outcome}"] += 1
    assert emit_tiling(problem, plan.tiling).entry not in faulty
    assert plan.confirmed
    assert wait_until(lambda: not running(mark))
    assert seen == {f"{kind}: {kind}": sum(k == kind for k in faulty.values()) for kind in wanted}, odd
    assert others["ok"] >= 20
    assert set(others) == {"ok"}, others
    tally(
        f"one sweep of {len(plan.candidates)} candidates: {dict(seen)}; of the others {dict(others)}; a right one won"
    )
