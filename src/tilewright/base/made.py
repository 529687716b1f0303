"""When, and by which version, something is made: files and pages say so."""

import datetime as dt
import importlib.metadata


def today() -> str:
    """Return the date and the time in UTC, to the minute."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def version() -> str:
    """Return the version of tilewright."""
    return importlib.metadata.version("tilewright")
