"""The command line: parse, call ``api``, show. One file per group of commands, no logic."""

import sys
import warnings


def main() -> None:
    """Run the command line; the entry point of the ``tilewright`` command."""
    from tilewright.cli.app import app
    from tilewright.cli.ending import at_signals

    warnings.showwarning = _show_warning
    with at_signals():
        app(prog_name="tilewright")


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line; where in the code it was raised helps no user."""
    sys.stderr.write(f"warning: {message}\n")
