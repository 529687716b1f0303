"""The handler that XLA calls, without XLA: what it is compiled of, and what it calls."""

import ctypes
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tilewright.base.errors import ToolchainError
from tilewright.runtime import call, xla

ROOM = 2000


def called(number, *arrays):
    """Call a function as the handler in C does; returns its answer and what it says."""
    addresses = (ctypes.c_void_p * len(arrays))(*(each.ctypes.data for each in arrays))
    message = ctypes.create_string_buffer(ROOM)
    answer = xla._call_from_c(number, addresses, ctypes.addressof(message), ROOM)
    return answer, message.value.decode()


def specs(*arrays):
    return [(each.shape, each.dtype) for each in arrays]


def test_a_function_sees_the_memory_itself_and_only_results_may_be_written():
    given, number, empty, result = (
        np.arange(6.0).reshape(2, 3),
        np.array(2.0, np.float32),
        np.zeros((0, 3)),
        np.zeros(3),
    )
    seen = []

    def function(views, targets):
        seen.extend(view.flags.writeable for view in (*views, *targets))
        assert [view.shape for view in views] == [(2, 3), (), (0, 3)]
        targets[0][:] = views[0].sum(axis=0) * views[1]

    kept = xla.numbered(function, specs(given, number, empty), specs(result))
    assert called(kept, given, number, empty, result) == (0, "")
    assert seen == [False, False, False, True]
    np.testing.assert_array_equal(result, [6.0, 10.0, 14.0])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("one sentence"), "one sentence"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (ValueError("\udc80" * 2), "??"),
        (ValueError("\u20ac" * 5000), "\u20ac" * (ROOM // 4 - 1)),
    ],
)
def test_an_error_comes_back_as_its_sentence(error, said):
    def function(views, targets):
        raise error

    assert called(xla.numbered(function, [], [])) == (1, said)


def test_numbers_of_another_process_are_refused():
    answer, said = called(-1)
    assert answer == 1
    assert said == "compiled code calls a function of another process (hint: compile it in this one)"


def test_there_must_be_a_header_and_a_compiler(tmp_path, monkeypatch):
    with pytest.raises(ToolchainError, match=r"XLA's header cannot be read: .* \(hint: update jaxlib\)"):
        xla.handler.__wrapped__(str(tmp_path))
    header = tmp_path / xla._HEADER
    header.parent.mkdir(parents=True)
    header.write_text("#error old")
    with pytest.raises(ToolchainError, match="old"):
        xla.handler.__wrapped__(str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_CC", "no-such-compiler")
    with pytest.raises(ToolchainError, match="no-such-compiler"):
        xla.handler.__wrapped__(str(tmp_path))


def test_the_handler_is_compiled_once(tmp_path, monkeypatch):
    jaxlib = importlib.util.find_spec("jaxlib")
    if jaxlib is None:
        pytest.skip("needs pip install jax")
    include = str(Path(jaxlib.submodule_search_locations[0]) / "include")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    calls, compiled = [], call.shared_object
    monkeypatch.setattr(call, "shared_object", lambda command, text: calls.append(text) or compiled(command, text))
    for _ in range(2):
        assert xla.handler.__wrapped__(include)
        monkeypatch.setattr(call, "_loaded", {})
    assert len(calls) == 1
