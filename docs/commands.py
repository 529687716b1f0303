"""Writes the reference of the command line from the commands themselves."""

import inspect

import mkdocs_gen_files
import typer

from tilewright.cli.app import app

HEAD = """# Commands

Every command takes `--json`: one JSON document on standard output, everything else on standard error. Exit status 0 is
done, 1 failed, 2 bad usage. A flag beats an environment variable (`TILEWRIGHT_…`), which beats `tilewright.toml`, which
beats the default: see [Settings](settings.md). `--debug` shows the traceback of an error.
"""


def _rows(command: typer.core.TyperCommand) -> list[str]:
    rows = ["| Argument or option | Default | What it means |", "| --- | --- | --- |"]
    for each in command.params:
        names = each.opts + each.secondary_opts
        flag = getattr(each, "is_flag", False)
        value = "" if flag else f" {each.metavar or 'VALUE'}"
        shown = (
            f"`{each.metavar or each.name}`" if each.param_type_name == "argument" else f"`{', '.join(names)}{value}`"
        )
        plain = isinstance(each.default, str | int | float) and not isinstance(each.default, bool)
        default = f"`{each.default}`" if plain and str(each.default) else ""
        rows.append(f"| {_cell(shown)} | {_cell(default)} | {_cell(getattr(each, 'help', '') or '')} |")
    return rows


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _section(words: str, command: typer.core.TyperCommand) -> list[str]:
    text, _, examples = inspect.cleandoc(command.help or "").partition("Example: ")
    lines = [f"## {words}", "", text.strip(), ""]
    for example in examples.split("Example: "):
        if example.strip():
            lines += ["```bash", " ".join(example.split()), "```", ""]
    return lines if hasattr(command, "commands") else [*lines, *_rows(command), ""]


def main() -> None:
    """Write the page."""
    lines = [HEAD]
    for name, command in typer.main.get_command(app).commands.items():
        lines += _section(f"tilewright {name}", command)
        for inner, sub in getattr(command, "commands", {}).items():
            lines += _section(f"tilewright {name} {inner}", sub)
    with mkdocs_gen_files.open("commands.md", "w") as page:
        page.write("\n".join(lines))


main()
