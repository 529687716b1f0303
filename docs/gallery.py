"""Writes the gallery from the examples of ``examples/gallery``: text, code and picture. ``python docs/gallery.py``."""

import ast
from pathlib import Path

PAGE = Path(__file__).parent / "gallery.md"
EXAMPLES = sorted((Path(__file__).parents[1] / "examples" / "gallery").glob("*.py"))
HEAD = """# Gallery

Every example here is a whole program; the picture is what it wrote. They lie in `examples/gallery`:
`python examples/gallery/01_heat_on_a_picture.py heat.png`. Those that draw need `pip install ".[plot,picture]"`.
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for example in EXAMPLES:
        text = example.read_text(encoding="utf-8")
        title, _, more = (ast.get_docstring(ast.parse(text)) or example.stem).partition(":")
        code = text.split('"""', 2)[2].strip()
        picture = f"images/gallery/{example.stem}.png"
        parts.append(f"## {title}\n\n{more.strip().capitalize()}\n\n![{title}]({picture})\n")
        parts.append(f"```python\n{code}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
