"""Content fingerprints: blake2b of a canonical form, stable across processes, platforms and versions of Python."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

DATA_MODEL_VERSION = 1  # raised whenever the meaning of a fingerprinted value changes, so that old caches miss


def canonical(value: object) -> object:
    """Turn a value of frozen dataclasses, tuples and plain numbers into a JSON-able canonical form.

    Floats and the parts of complex numbers are written exactly (hexadecimal); dataclasses carry their class name, and
    the fields that they compare; those that they had once are in ``FORMER_FIELDS``, so that keys in files still match.

    >>> canonical((1, 0.5, "a"))
    [1, {'f': '0x1.0000000000000p-1'}, 'a']
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"f": value.hex()}
    if isinstance(value, complex):
        return {"z": [value.real.hex(), value.imag.hex()]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {item.name: canonical(getattr(value, item.name)) for item in dataclasses.fields(value) if item.compare}
        fields |= {name: canonical(former) for name, former in getattr(value, "FORMER_FIELDS", {}).items()}
        return {"c": type(value).__name__, "v": fields}
    if isinstance(value, Mapping):
        return {"m": [[canonical(key), canonical(value[key])] for key in sorted(value)]}
    if isinstance(value, Sequence):
        return [canonical(item) for item in value]
    raise TypeError(f"cannot fingerprint a {type(value).__name__}")


def fingerprint(*values: object) -> str:
    """Return 32 hexadecimal digits that identify the values' content.

    >>> fingerprint(1, "a") == fingerprint(1, "a") != fingerprint("1", "a")
    True
    """
    text = json.dumps([DATA_MODEL_VERSION, canonical(values)], separators=(",", ":"), sort_keys=True)
    return digest(text.encode())


def identity(number: Any) -> tuple[type, str]:  # noqa: ANN401  (a number of Python's or NumPy's)
    """Return a key of a number that tells apart what Python calls equal: 1, 1.0 and True; 0.0 and -0.0.

    >>> identity(0.0) == identity(-0.0), identity(float("nan")) == identity(float("nan"))
    (False, True)
    """
    plain = number.item() if hasattr(number, "item") else number
    return type(plain), repr(plain)


def digest(data: bytes) -> str:
    """Return 32 hexadecimal digits of the bytes' blake2b digest."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
