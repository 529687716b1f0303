"""Settings: a flag beats an environment variable beats ``tilewright.toml`` beats the default."""

from collections.abc import Mapping
from pathlib import Path

from tilewright.base.errors import UsageError, meant
from tilewright.base.paths import read_bounded

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


def load(environ: Mapping[str, str], file: Path) -> dict[str, str]:
    """Collect the settings that no flag gives, as flags would have them; the file need not exist.

    >>> load({"TILEWRIGHT_THREADS": "2", "HOME": "/"}, Path("nowhere.toml"))
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
