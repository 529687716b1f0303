"""Programs by name, as the command line gives them: a built-in one, or ``file.py:function``."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tilewright.base.errors import TilewrightError, UsageError, meant
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.program import Program
from tilewright.verbs.dispatch import program_of, stencil_of
from tilewright.workload import Named


def load_program(name: str) -> Program:
    """Return the program that a name stands for.

    ``file.py:function`` imports the user's own file, which runs it like any Python script; its folder is importable
    while that lasts.
    """
    if name in catalogue.names():
        return catalogue.program(name)
    return stencil_of(load_value(name))


def load_any(name: str) -> Named:
    """Return the program of any kind that a name stands for, as :func:`load_program` does."""
    return program_of(load_value(name))


def load_run(name: str, steps: int | None) -> Named:
    """Return what a run is of: where a stencil and another program have one name, steps mean the stencil."""
    program = load_any(name) if steps is None or name not in catalogue.names() else load_program(name)
    steps_of(program, steps)
    return program


def steps_of(program: Named, steps: int | None) -> int:
    """Return the number of steps: of a stencil somebody must say it."""
    if steps is None and isinstance(program, Program):
        raise UsageError(f"missing the number of time steps of {program.name!r}", "give --steps T")
    return 1 if steps is None else steps


def load_value(name: str) -> Any:  # noqa: ANN401  (whatever the file defines)
    """Return what ``file.py:function`` stands for, or any other name as it is."""
    path, separator, function = name.rpartition(":")
    if name.removesuffix(":").endswith(".py"):
        file = name.removesuffix(":")
        raise UsageError(f"{file!r} names a file but no function", f"write {file}:FUNCTION")
    if not separator or not path.endswith(".py"):
        return name
    value = getattr(_import(Path(path)), function, None)
    if value is None:
        raise UsageError(f"there is no {function!r} in {path!r}", _suggest(path, function))
    return value


def _import(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {str(path)!r}", "a program is a built-in name or FILE.py:FUNCTION")
    name = f"tilewright_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{str(path)!r} cannot be imported", "give a Python file")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    sys.modules[name] = module
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except TilewrightError:
        raise
    except Exception as error:
        raise UsageError(
            f"running {str(path)!r} failed: {type(error).__name__}: {error}", f"try: python {path}"
        ) from error
    finally:
        sys.path.remove(folder)
    return module


def _suggest(path: str, function: str) -> str:
    module = sys.modules[f"tilewright_user_{Path(path).stem}"]
    decorated = [name for name, value in vars(module).items() if hasattr(value, "__wrapped__")]
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    names = list(dict.fromkeys([*decorated, *own]))
    return meant(function, names, f"it defines {', '.join(names[:8])}" if names else "it defines no function")
