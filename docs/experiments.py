"""Writes the page of the experiments: claims, commands, and the verdicts of the records in the repository."""

import re
from pathlib import Path

import mkdocs_gen_files

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
HEAD = """# Experiments

The papers' experiments, one command each; all are scripts in `reproduce`. The verdicts are those that the
scripts wrote with the records in `benchmarks/results`; what was lost stands there as well. Those that need nothing but
the models are judged on the pages that explain them.
"""
CLAIMS = {
    "accuracy": "RMSE at most 10 % within 20 % of the best, several times larger over all (PPoPP 2017, figure 3).",
    "tile_choice": "gradient2d, 8192^2 x 8192 on gtx980: the model's minimum is 16.4 to 16.5 s, never below 16.35; the"
    " band's best is at least the baseline's best; the largest footprint is not the best (figures 4 to 6).",
    "micro_benchmarks": "Parameters repeat within their spread; C_iter belongs to the stencil (tables 3, 4).",
    "fusion": "Tuned configurations beat (16,16,1,1); full fusion need not win (Ben Cheikh 2015, figures 12-18).",
    "krylov": "Autotuned kernels beat the library in most cases (OrCuda, figures 6 to 8).",
}
ELSEWHERE = {
    "accuracy_logs": ("The same against 25,370 measurements of others on a V100.", "validation.md"),
    "codesign": ("About 1 % of designs are Pareto-optimal (figures C.3, C.4).", "codesign.md"),
    "workload": ("The optimum moves with the stencil; 3D wants more shared memory (table C.2).", "codesign.md"),
    "energy_fit": ("Regression beats micro-benchmarks (table B.2).", "energy.md"),
    "energy_choice": (
        "Few wrong tiles, a loss below 1 %; is the fastest tile also the least energy? (B.3)",
        "energy.md",
    ),
    "chains": ("936 … 544 with M = 65536 moves 8.5 % fewer words; 19,000 random chains (table D.1).", "chains.md"),
}


def main() -> None:
    """Write the page and the pictures that it shows."""
    parts = [HEAD]
    for name, claim in CLAIMS.items():
        record = next(path for path in (RESULTS / name / f for f in ("verdict.md", f"{name}.txt")) if path.exists())
        first = record.read_text(encoding="utf-8").partition("\n\n\n")[0].strip()
        verdict = first.splitlines()[0] if record.suffix == ".txt" else first
        verdict = re.sub(r"(?m)^(?!- )(.+)\n- ", r"\1\n\n- ", verdict)  # a list begins after an empty line
        parts.append(f"## {name}\n\n*Claimed:* {claim}\n\n`python reproduce/{name}.py`\n\n{verdict}\n")
        picture = RESULTS / name / f"{name}.png"
        if picture.exists():
            with mkdocs_gen_files.open(f"pictures/experiments/{picture.name}", "wb") as target:
                target.write(picture.read_bytes())
            file = f"pictures/experiments/{picture.name}"
            parts.append(f"[![{name}]({file})]({file})\n")  # some have panels too small to read in a column of text
    parts.append("## By the models alone\n\n| script | claim | verdict |\n| --- | --- | --- |")
    parts += [f"| `{name}.py` | {claim} | [here]({page}) |" for name, (claim, page) in ELSEWHERE.items()]
    with mkdocs_gen_files.open("experiments.md", "w") as page:
        page.write("\n".join(parts) + "\n")


main()
