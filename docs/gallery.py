"""Runs every example of ``examples/gallery`` and writes the gallery: text, code and the picture that it made."""

import ast
import runpy
import sys
import tempfile
from pathlib import Path

import mkdocs_gen_files

EXAMPLES = sorted((Path(__file__).parents[1] / "examples" / "gallery").glob("*.py"))
HEAD = """# Gallery

Every example here is a whole program, run when this page was made; the picture is what it wrote. They lie in
`examples/gallery`: `python examples/gallery/01_heat_on_a_picture.py heat.png`.
"""


def main() -> None:
    """Write the page."""
    pages = [HEAD]
    for example in EXAMPLES:
        text = example.read_text(encoding="utf-8")
        title, _, more = (ast.get_docstring(ast.parse(text)) or example.stem).partition(":")
        code = text.split('"""', 2)[2].strip()
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / f"{example.stem}.png"
            before, sys.argv = sys.argv, [str(example), str(picture)]
            try:
                runpy.run_path(str(example), run_name="__main__")
            finally:
                sys.argv = before
            with mkdocs_gen_files.open(f"pictures/gallery/{picture.name}", "wb") as target:
                target.write(picture.read_bytes())
        pages.append(f"## {title}\n\n{more.strip().capitalize()}\n\n![{title}](pictures/gallery/{example.stem}.png)\n")
        pages.append(f"```python\n{code}\n```\n")
    with mkdocs_gen_files.open("gallery.md", "w") as page:
        page.write("\n".join(pages))


main()
