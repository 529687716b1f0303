"""Puts tables of figures into the pages that ask for them: made by ``benchmarks/tables.py``."""

import runpy
from pathlib import Path

import mkdocs_gen_files

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Rewrite every page that asks for a table."""
    fill = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"), run_name="tables")["fill"]
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        filled = fill(text)
        if filled != text:
            with mkdocs_gen_files.open(page.name, "w") as target:
                target.write(filled)


main()
