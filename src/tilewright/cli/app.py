"""The application: its commands, its settings, and errors as one sentence.

A flag beats an environment variable beats ``tilewright.toml`` beats the default.
"""

import os
import shutil
import sys
import traceback
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from tilewright.base.deprecations import gone
from tilewright.base.errors import TilewrightError, UsageError, meant, sentence
from tilewright.base.paths import read_bounded
from tilewright.cli import output
from tilewright.cli.options import with_options

_SUMMARY = """Stencils in time tiles: compiled for this machine, with a cost model for every other.

Example: tilewright run heat2d --shape 2048x2048 --steps 256 --check
"""
_FRAMED = 80  # columns from which help is framed
COMMANDS = {
    "run": "run",
    "tune": "run",
    "predict": "predict",
    "calibrate": "host",
    "programs": "catalogues",
    "machines": "catalogues",
    "tilings": "catalogues",
    "area": "codesign",
    "codesign": "codesign",
    "energy": "predict",
    "validate": "host",
    "whatif": "predict",
    "doctor": "host",
    "petsc": "workloads",
    "chain": "workloads",
    "annotate": "workloads",
    "fuse": "workloads",
    "image": "workloads",
    "shot": "workloads",
    "report": "report",
    "wisdom": "wisdom",
}
"""Every command and its module, where a function has its name; a group of commands is the module's ``app``."""
_RESEARCH = ("codesign", "area", "energy", "whatif")
"""Commands that answer questions about machines, not about a program of one's own; they have a panel of their own."""
_PIPELINES = ("fuse", "image")
KEYS: dict[str, type] = {
    "backend": str,
    "boundary": str,
    "dtype": str,
    "machine": str,
    "model": str,
    "strict": bool,
    "threads": int,
}
"""Every setting with its type. Its flag is ``--name``, its environment variable ``TILEWRIGHT_NAME``."""
_LARGEST = 1 << 20


class _Commands(Mapping[str, Any]):
    """The commands, each of which is loaded when it is asked for: a call needs one of them."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  (typer's)
        if name not in self._loaded:
            self._loaded[name] = _load_command(name, COMMANDS[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _load_command(name: str, module: str) -> Any:  # noqa: ANN401  (typer's)
    home = import_module(f"tilewright.cli.{module}")
    typer_app = getattr(home, "app", None)
    if typer_app is None:
        typer_app = typer.Typer(add_completion=False)
        panel = "Research: hardware, energy, what if" if name in _RESEARCH else None
        typer_app.command(name, rich_help_panel=panel)(with_options(getattr(home, name)))
    command = typer.main.get_command(typer_app)
    if shutil.get_terminal_size().columns < _FRAMED:
        for each in getattr(command, "commands", {name: command}).values():
            each.rich_markup_mode = None  # plain text, where a group's frame folds what that would cut
    return command


class _Group(TyperGroup):
    """Prints errors as one sentence with a hint, and takes ``--debug`` anywhere on the line."""

    debug: ClassVar[str] = "tilewright.debug"

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(**settings | {"commands": _Commands()})

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002
        return list(self.commands)

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        ctx.meta[self.debug] = "--debug" in args
        try:
            return super().parse_args(ctx, [arg for arg in args if arg != "--debug"])
        except Exception as error:
            if not _of_typer(error) or _is_group_help(error):
                raise
            raise typer.Exit(_report(error)) from None

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # noqa: ANN401
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, KeyboardInterrupt):
            raise
        except Exception as error:
            if _is_group_help(error):
                raise
            if ctx.meta[self.debug]:
                traceback.print_exc()
            if isinstance(error, BrokenPipeError):  # as `| head` leaves it: nobody reads on, also not at exit
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(1) from None
            raise typer.Exit(_report(error)) from None


def _report(error: Any) -> int:  # noqa: ANN401  (also typer's)
    """Print an error to standard error and return the exit status."""
    status: int
    if was := gone(getattr(error, "option_name", None) or ""):  # an option that there is not any more
        error = was.error()
    if _of_typer(error):
        message = error.format_message().removeprefix("Invalid value: ").rstrip(".")
        hint, status = _help_of(error), int(error.exit_code)
    elif isinstance(error, TilewrightError):
        message, hint, status = error.message, error.hint, error.exit_status
    elif isinstance(error, MemoryError):
        message, hint, status = "there is not enough memory for this", "use a smaller --shape", 1
    elif isinstance(error, OSError) and error.strerror:
        place = f" {str(error.filename)!r}" if error.filename else ""
        message, hint, status = f"the system refused: {error.strerror}{place}", "", 1
    else:
        message = f"internal error: {type(error).__name__}: {error}"
        hint, status = "run it again with --debug and report what it prints", 1
    output.note(f"error: {sentence(message)}" + (f"\nhint: {sentence(hint)}" if hint else ""))
    return status


def _of_typer(error: Exception) -> bool:
    """Whether it is typer's own, of an argument or an option, whose classes have no public name."""
    return hasattr(error, "exit_code") and hasattr(error, "format_message")


def _is_group_help(error: Exception) -> bool:
    """Whether it stands for the help of a group that was called without a command, which is on the screen by then."""
    return type(error).__name__ == "NoArgsIsHelpError"


def _help_of(error: Exception) -> str:
    """Return the command that says how a command is called, behind a group's commands where one was none of them."""
    context = getattr(error, "ctx", None)
    if context is None:
        return ""
    commands = ", ".join(context.command.list_commands(context)) if "No such command" in str(error) else ""
    return f"{commands and f'the commands are {commands}; '}{context.command_path} --help says what it takes"


def _version(flag: bool) -> None:
    if flag:
        import tilewright

        typer.echo(f"tilewright {tilewright.__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=_Group,
    help=_SUMMARY,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _root(
    ctx: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,  # noqa: ARG001
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Read the settings that apply to every command."""
    values = settings(os.environ, Path("tilewright.toml"))
    name = ctx.invoked_subcommand
    if name is not None:
        ctx.default_map = {name: _settings_of(ctx.command.commands[name], values)}  # type: ignore[attr-defined]


def _settings_of(command: Any, values: dict[str, str]) -> dict[str, str]:  # noqa: ANN401  (typer's)
    """Return the settings of a command's options; boundaries are set for runs, pipelines have other ones."""
    flags = {flag: each.name for each in command.params for flag in each.opts}
    own = {key: value for key, value in values.items() if key != "boundary" or command.name not in _PIPELINES}
    return {flags[f"--{key}"]: value for key, value in own.items() if f"--{key}" in flags}


def settings(environ: Mapping[str, str], file: Path) -> dict[str, str]:
    """Collect the settings that no flag gives, as flags would have them; the file need not exist.

    >>> settings({"TILEWRIGHT_THREADS": "2", "HOME": "/"}, Path("nowhere.toml"))
    {'threads': '2'}
    """
    values = _read(file)
    for key in KEYS:
        if environ.get(f"TILEWRIGHT_{key.upper()}"):
            values[key] = environ[f"TILEWRIGHT_{key.upper()}"]
    return values


def _read(file: Path) -> dict[str, str]:
    if not file.is_file():
        return {}
    from tilewright.base.documents import decode_toml

    data = read_bounded(file, _LARGEST, "settings file")
    table = decode_toml(data, repr(file.name), f"correct {file.name} or remove it")
    return {key: _text(key, value, file.name) for key, value in table.items()}


def _text(key: str, value: object, file: str) -> str:
    if key not in KEYS:
        hint = meant(key, KEYS, f"the settings are {', '.join(KEYS)}")
        raise UsageError(f"{file!r} has no setting {key!r}", hint)
    if type(value) is not KEYS[key]:
        raise UsageError(
            f"the setting {key!r} in {file!r} is of type {KEYS[key].__name__}, got {value!r}",
            'texts are quoted, numbers and true or false are not: backend = "c"',
        )
    return str(value)
