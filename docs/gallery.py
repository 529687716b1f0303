"""Writes the gallery from the programs of ``examples/gallery``: ``python docs/gallery.py``.

The page in the repository has what each shows and its picture; the site has the code as well, see ``figures.py``.
"""

import ast
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "gallery.md"
EXAMPLES = sorted((PAGE.parents[1] / "examples" / "gallery").glob("*.py"))
HEAD = """# Gallery

Whole programs; each picture is what its program wrote: `python examples/gallery/01_heat_on_a_picture.py heat.png`
(`pip install ".[plot,picture]"`). The site shows their code.
"""


def page(*, code: bool = False) -> str:
    """Return the page, with the code of the programs or without."""
    parts = [HEAD]
    for example in EXAMPLES:
        text = example.read_text(encoding="utf-8")
        title, _, more = (ast.get_docstring(ast.parse(text)) or example.stem).partition(":")
        sentence = more.strip()[:1].upper() + more.strip()[1:]
        parts.append(f"## {title}\n\n{sentence} `{example.name}`\n\n![{title}](images/gallery/{example.stem}.png)\n")
        if code:
            body = text.split('"""', 2)[2].strip()
            parts.append(f"```python\n{body}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
