"""Fills pages when the documentation is built: tables of figures, code and what it prints."""

import runpy
from pathlib import Path

import mkdocs_gen_files

DOCS = Path(__file__).resolve().parent


def main() -> None:
    """Rewrite every page that asks for a table, the one of the ten stops, and the gallery."""
    tables = runpy.run_path(str(DOCS.parent / "benchmarks" / "tables.py"), run_name="tables")["fill"]
    sources = runpy.run_path(str(DOCS / "sources.py"), run_name="sources")
    gallery = runpy.run_path(str(DOCS / "gallery.py"), run_name="gallery")["page"]
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        filled = sources["quoted"](tables(text))
        if page.name == "how-it-works.md":
            filled = sources["executed"](filled)
        if page.name == "gallery.md":
            filled = gallery(code=True)
        if filled != text:
            with mkdocs_gen_files.open(page.name, "w") as target:
                target.write(filled)


main()
