"""The command line: parse, call ``verbs``, show. One file per group of commands, no logic."""

import signal
import sys
import warnings


def main() -> None:
    """Run the command line; the entry point of the ``tilewright`` command."""
    from tilewright.base.deprecations import TilewrightDeprecationWarning
    from tilewright.cli.ending import at_signals

    if not sys.warnoptions:  # Python shows these to developers alone
        warnings.simplefilter("default", TilewrightDeprecationWarning)
    warnings.showwarning = _show_warning
    try:
        with at_signals():
            from tilewright.cli.app import app

            app(prog_name="tilewright")
    except KeyboardInterrupt:  # while the command line itself was still being loaded
        raise SystemExit(128 + signal.SIGINT) from None


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line; where in the code it was raised helps no user."""
    from tilewright.cli import output

    output.note(f"warning: {message}")
