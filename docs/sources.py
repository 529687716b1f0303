"""Puts code of the package, and what code prints, into pages, so that these show the version that they are built from.

A line of a page that begins with ``In:`` names functions and classes; the file of each is looked up. A line
``<!-- source: NAME -->`` stands for the text of a function. Building fails where a name was moved or is gone.
"""

import contextlib
import importlib
import inspect
import io
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^```python\n(.*?)^```\n", flags=re.MULTILINE | re.DOTALL)
_PLACES = re.compile(r"^In: (.+)$", flags=re.MULTILINE)
_SOURCE = re.compile(r"^<!-- source: ([\w.]+) -->$", flags=re.MULTILINE)


def executed(text: str) -> str:
    """Return a page with the output of its code, run in order in one namespace, and with the files of what it names."""
    names: dict[str, Any] = {"__name__": "page"}

    def with_output(match: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(match[1], "page", "exec"), names)  # noqa: S102  (our own documentation)
        output = "\n".join(line.rstrip() for line in printed.getvalue().splitlines())
        language = "c" if ";\n" in output else "text"
        return f"{match[0]}\n```{language}\n{output}\n```\n" if output else match[0]

    def with_files(match: re.Match[str]) -> str:
        dotted = re.findall(r"`([\w.]+)`", match[1])
        return f"*In {', '.join(map(place, dotted))}*"

    return _PLACES.sub(with_files, _BLOCK.sub(with_output, text))


def quoted(text: str) -> str:
    """Return a page with the text of the functions that it asks for."""
    return _SOURCE.sub(lambda match: f"```python\n{textwrap.dedent(inspect.getsource(_named(match[1])[1]))}```\n", text)


def place(dotted: str) -> str:
    """Say in which file something is.

    >>> place("tilewright.tracing.trace")
    '`trace` of `src/tilewright/tracing.py`'
    """
    module, _ = _named(dotted)
    file = Path(module.__file__ or "").resolve().relative_to(ROOT).as_posix()
    return f"`{dotted.removeprefix(f'{module.__name__}.')}` of `{file}`"


def _named(dotted: str) -> tuple[ModuleType, Any]:
    """Return the module that defines something, and the thing itself."""
    parts = dotted.split(".")
    end = next(end for end in range(len(parts), 0, -1) if _is_module(".".join(parts[:end])))
    module = importlib.import_module(".".join(parts[:end]))
    value: Any = module
    for name in parts[end:]:
        value = inspect.getattr_static(value, name)
    if (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__ != module.__name__:
        raise LookupError(f"{dotted} is defined in {value.__module__}")
    return module, value


def _is_module(dotted: str) -> bool:
    try:
        importlib.import_module(dotted)
    except ModuleNotFoundError:
        return False
    return True
