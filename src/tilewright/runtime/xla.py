"""Python functions that XLA calls on the processor, with the addresses of its buffers: by a small handler in C.

XLA's interface of foreign functions is a C header that jaxlib brings along, so any C compiler makes the handler.
"""

import ctypes
import functools
import itertools
import math
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import ToolchainError, UsageError
from tilewright.codegen.source import c_source
from tilewright.runtime.call import compile_source, library
from tilewright.runtime.memory import Array

Spec = tuple[tuple[int, ...], np.dtype[Any]]  # shape and element type of a buffer, whose rows lie one after the other
_HEADER = Path("xla", "ffi", "api", "c_api.h")
_HANDLER = """
#include <stddef.h>
#include <string.h>

enum { ROOM = 2000 };
int (*tw_call)(int64_t number, void** addresses, char* message, int64_t room);

static XLA_FFI_Error* refuse(const XLA_FFI_CallFrame* frame, const char* message) {
  XLA_FFI_Error_Create_Args args;
  memset(&args, 0, sizeof args);
  args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  args.message = message;
  args.errc = XLA_FFI_Error_Code_INTERNAL;
  return frame->api->XLA_FFI_Error_Create(&args);
}

XLA_FFI_Error* tw_handler(XLA_FFI_CallFrame* frame) {
  XLA_FFI_Extension_Base* asked = frame->extension_start;
  if (asked && asked->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata* about = ((XLA_FFI_Metadata_Extension*)asked)->metadata;
    about->api_version.major_version = XLA_FFI_API_MAJOR;
    about->api_version.minor_version = XLA_FFI_API_MINOR;
    memset(&about->traits, 0, sizeof *about - offsetof(XLA_FFI_Metadata, traits));
    return NULL;
  }
  if (frame->attrs.size != 1 || frame->attrs.types[0] != XLA_FFI_AttrType_SCALAR ||
      ((XLA_FFI_Scalar*)frame->attrs.attrs[0])->dtype != XLA_FFI_DataType_S64)
    return refuse(frame, "a call of a Python function has one attribute, its number");
  int64_t number = *(int64_t*)((XLA_FFI_Scalar*)frame->attrs.attrs[0])->value;
  int64_t given = frame->args.size, results = frame->rets.size;
  void* addresses[given + results + 1];
  for (int64_t i = 0; i < given; ++i) addresses[i] = ((XLA_FFI_Buffer*)frame->args.args[i])->data;
  for (int64_t i = 0; i < results; ++i) addresses[given + i] = ((XLA_FFI_Buffer*)frame->rets.rets[i])->data;
  char message[ROOM] = "";
  return tw_call(number, addresses, message, ROOM) ? refuse(frame, message) : NULL;
}
"""
_CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_int64)
_calls: dict[int, Callable[[Any], None]] = {}
"""By number. Nobody says when compiled code that calls one is gone, so they stay."""
_numbers = itertools.count(secrets.randbits(62))
"""From a random one: code that another process compiled and kept names none of this one's."""


def numbered(
    function: Callable[[list[Array], list[Array]], None], arguments: Sequence[Spec], results: Sequence[Spec]
) -> int:
    """Keep a function for the handler to call, in any thread and several at a time; returns its number."""
    place = len(arguments)
    specs = [(*spec, ctypes.c_char * (math.prod(spec[0]) * spec[1].itemsize)) for spec in (*arguments, *results)]

    def call(addresses: Any) -> None:  # noqa: ANN401
        views = []
        for i, (shape, dtype, kind) in enumerate(specs):
            memory: Any = kind.from_address(addresses[i] or 0)
            views.append(np.ndarray(shape, dtype, memory))
            views[i].flags.writeable = i >= place
        # All lie in XLA's buffers, which are gone when the function returns.
        function(views[:place], views[place:])

    number = next(_numbers)
    _calls[number] = call
    return number


def _call(number: int, addresses: Any, message: int, room: int) -> int:  # noqa: ANN401
    """Call a function; an error becomes a sentence, since none may pass through C."""
    try:
        _function_of(number)(addresses)
    except BaseException as error:  # noqa: BLE001
        sentence = (str(error) or type(error).__name__)[: room // 4 - 1].encode(errors="replace") + b"\0"
        ctypes.memmove(message, sentence, len(sentence))
        return 1
    return 0


def _function_of(number: int) -> Callable[[Any], None]:
    if number not in _calls:
        raise UsageError("compiled code calls a function of another process", "compile it in this one")
    return _calls[number]


_call_from_c = _CALL(_call)


@functools.cache
def handler(include: str) -> Any:  # noqa: ANN401  (a C function)
    """Compile the handler with XLA's headers, or find it in the kernel cache, and load it."""
    try:
        header = (Path(include) / _HEADER).read_text(encoding="utf-8")
    except OSError as error:
        raise ToolchainError(f"XLA's header cannot be read: {error.strerror}", "update jaxlib") from None
    loaded = library(compile_source(c_source(header + _HANDLER, "tw_handler")))
    ctypes.c_void_p.in_dll(loaded, "tw_call").value = ctypes.cast(_call_from_c, ctypes.c_void_p).value
    return loaded.tw_handler
