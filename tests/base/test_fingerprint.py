import subprocess
import sys
from dataclasses import dataclass

import pytest

from tilewright.base.fingerprint import digest, fingerprint


@dataclass(frozen=True)
class Left:
    x: float


@dataclass(frozen=True)
class Right:
    x: float


def test_values_that_python_calls_equal_differ():
    values = [1, 1.0, True, "1", (1,), ((1,),), None, 0.0, -0.0, 0, False, "", Left(1.0), Right(1.0), {"x": 1.0}]
    assert len({fingerprint(value) for value in values}) == len(values)


def test_mappings_have_no_order():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})


def test_it_is_the_same_in_every_process():
    code = "from tilewright.base.fingerprint import fingerprint; print(fingerprint('a', 0.1, {'k': (1, None)}))"
    runs = {subprocess.check_output([sys.executable, "-c", code], text=True).strip() for _ in range(2)}
    assert runs == {fingerprint("a", 0.1, {"k": (1, None)})}


def test_what_has_no_canonical_form_is_refused():
    for value in (object(), {1, 2}, Left, b"a".__class__):
        with pytest.raises(TypeError):
            fingerprint(value)


def test_a_digest_changes_with_every_bit():
    data = b"tilewright"
    flipped = {
        digest(bytes([*data[:i], data[i] ^ 1 << bit, *data[i + 1 :]])) for i in range(len(data)) for bit in range(8)
    }
    assert len(flipped | {digest(data)}) == 8 * len(data) + 1
