"""Hostile inputs: good files of every format, and what an enemy or a bad disk makes of them."""

import json
import pickle
import random
import re
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

TRAP = "PWNED"
"""Whatever executes an input leaves a file of this name."""
SHELL = (f"$(touch {TRAP})", f"`touch {TRAP}`", f"; touch {TRAP} ;", f"| touch {TRAP}", f"&& touch {TRAP} &&")
PYTHON = (f"__import__('os').system('touch {TRAP}')", f"exec(\"open('{TRAP}','w')\")")
PATHS = ("../../../../etc/passwd", "/etc/passwd", f"../{TRAP}", "a/../../b", "\x00", "con:", "~root/x")
NUMBERS = ("1e999", "-1", "0", "9" * 5000, "nan", "0x7fffffffffffffff", "1e-999", "-9223372036854775809")
SEED = 20261122


class _Bomb:
    def __reduce__(self):
        return (exec, (f"open({TRAP!r}, 'w')",))


def _npy() -> bytes:
    stream = BytesIO()
    np.save(stream, np.linspace(0, 1, 20 * 30, dtype=np.float32).reshape(20, 30))
    return stream.getvalue()


def _mask() -> bytes:
    stream = BytesIO()
    np.save(stream, np.arange(32 * 64).reshape(32, 64) % 3 > 0)
    return stream.getvalue()


def _picture(kind: str) -> bytes:
    stream = BytesIO()
    Image.fromarray((np.arange(600).reshape(20, 30) % 251).astype(np.uint8)).save(stream, format=kind)
    return stream.getvalue()


_MACHINE = """name = "mine"
title = "A machine of mine"
kind = "gpu"
schema = 1

[quantities]
"""
_ANNOTATED = """
/*@ begin PerfTuning (
  def performance_params { param UF[] = range(1,4); }
  def input_params { param N[] = [1000]; }
  def input_vars { decl dynamic double y[N] = 0; decl dynamic double x[N] = random; }
  def search { arg algorithm = 'Exhaustive'; }
) @*/
int i;
/*@ begin Loop ( transform Unroll(ufactor=UF)
  for (i=0; i<=N-1; i++)
    y[i] = y[i] + 2.0*x[i];
) @*/
for (i=0; i<=N-1; i++)
  y[i] = y[i] + 2.0*x[i];
/*@ end @*/
/*@ end @*/
"""


def machine_file() -> bytes:
    """A machine of the catalogue as a file."""
    from tilewright.machines import files
    from tilewright.machines.files import to_toml

    return to_toml(files.load("gtx980")).encode()


def _results() -> bytes:
    """Results as other tuners write them."""
    return json.dumps({
        "schema_version": "1.0.0",
        "results": [
            {"configuration": {"tile_t": t, "tile_1": 8, "tile_2": 64, "threads_1": 1, "threads_2": 64},
             "objectives": ["time"],
             "times": {"runtimes": [3.0 + t]}, "invalidity": "correct", "correctness": 1,
             "measurements": [{"name": "time", "value": 3.0 + t, "unit": "ms"}]}
            for t in range(2, 30, 2)
        ],
    }).encode()  # fmt: skip


def _tables() -> bytes:
    """The solved tables of a small codesign."""
    from tilewright.workloads.codesign import files
    from tilewright.workloads.codesign.codesign import codesign
    from tilewright.workloads.codesign.design import Axes, DesignOptions

    axes = Axes(sm_count=(8, 16), vector_width=(64, 128), shared_kb=(24.0, 48.0))
    result = codesign("heat2d", area=(0.0, 900.0), axes=axes, options=DesignOptions(grid="coarse"), stock=())
    with tempfile.TemporaryDirectory() as folder:
        files.save(result, Path(folder) / "t.npz")
        return (Path(folder) / "t.npz").read_bytes()


def _calibration() -> tuple[str, bytes]:
    """Where the calibration of this machine is kept, and what a machine file of a processor holds."""
    from tilewright.machines.files import to_toml
    from tilewright.runtime.store import hosts

    place = hosts.path()
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(place), to_toml(hosts.host()).encode()


_WORKLOAD = b"""[[stencil]]
program = "heat2d"
weight = 2.0
flops_per_cell = 9
sizes = [{ shape = "4096x4096", steps = 1024, weight = 0.5 }]
"""


def good() -> dict[str, tuple[str, bytes, tuple[str, ...]]]:
    """Return, per format: a file's name, its content, and the command that reads it (FILE stands for the file)."""
    wisdom = {
        "format": "tilewright-wisdom", "version": 1,
        "entries": [{
            "program": "heat2d", "problem_key": "0" * 32, "dtype": "float32", "shape": [64, 64], "steps": 8,
            "threads": 2, "tiling": "hybrid:t=4,s=8x64", "seconds": 1.0, "samples": 3, "unstable": False,
            "confirmed": True, "when": "2026-01-01T00:00:00+00:00",
            "circumstances": {"device": "a", "device_key": "1", "compiler": "c", "compiler_key": "2", "version": "3"},
        }],
    }  # fmt: skip
    result = {
        "program": "heat2d", "machine": "gtx980", "shape": [64, 64], "steps": 8, "dtype": "float32", "effort": "full",
        "evaluated": 1, "space_size": 9,
        "candidates": [{"tile": "hybrid:t=4,s=8x64", "predicted_seconds": 0.5, "measured_seconds": 0.7, "spread": 0.1}],
    }  # fmt: skip
    tuner = {
        "device_name": "V100", "kernel_name": "j2d5pt", "problem_size": [16384, 16384],
        "tune_params_keys": ["tile_t", "tile_1", "tile_2", "threads_1", "threads_2"],
        "cache": {
            f"{t},8,64,1,64": {"tile_t": t, "tile_1": 8, "tile_2": 64, "threads_1": 1, "threads_2": 64, "time": 3.0 + t}
            for t in (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28)
        },
    }  # fmt: skip
    lines = "".join(f"{t}_{s}_64_1_64 {500 + 10 * t + s}.5 GFLOPS\n" for t in (2, 4, 8, 16) for s in (4, 8, 16, 32))
    runs = "program,shape,steps,tiling,seconds,joules\n"
    runs += "".join(f'jacobi2d,512x512,64,"hybrid:t={t},s=8x64",{1 + t / 9},{50 + t * t}\n' for t in range(2, 80, 2))
    fasta = b">one\nMKVLAAGIVG\nLLAAQWERTY\n>two\nMKVLGAGIVG\n"
    small = ("--shape", "32x64", "--steps", "3")
    large = ("--shape", "4096x4096", "--steps", "9")
    here, calibration = _calibration()
    cheap = ("--axis", "sm=8,16", "--axis", "width=64,128", "--axis", "shared=24,48", "--grid", "coarse")
    return {
        "settings": ("tilewright.toml", b'machine = "gtx980"\nthreads = 2\n', ("predict", "heat2d", *small)),
        "machine": ("m.toml", machine_file(), ("predict", "heat2d", *small, "--machine", "FILE")),
        "area": ("m.toml", machine_file(), ("area", "FILE")),
        "wisdom": ("w.json", json.dumps(wisdom).encode(), ("wisdom", "import", "FILE")),
        "stencilbench": ("j2d5pt.log", lines.encode(), ("validate", "--log", "FILE", "--machine", "v100")),
        "kernel tuner": (
            "t.json",
            json.dumps(tuner).encode(),
            ("validate", "--log", "FILE", "--machine", "v100", "--steps", "120"),
        ),
        "results of tuners": (
            "t4.json",
            _results(),
            ("validate", "--log", "FILE", "--machine", "v100", "--program", "j2d5pt", *large),
        ),
        "workload": ("w.toml", _WORKLOAD, ("codesign", "--workload", "FILE", "--area", "0:900", *cheap)),
        "tables": ("t.npz", _tables(), ("codesign", "--tables", "FILE", "--area", "0:900")),
        "calibration": (here, calibration, ("predict", "heat2d", *small, "--machine", "host")),
        "fasta": ("s.fasta", fasta, ("run", "smith_waterman", "--input", "FILE")),
        "array": ("u.npy", _npy(), ("run", "heat2d", "--steps", "2", "--input", "FILE")),
        "png": ("p.png", _picture("PNG"), ("run", "heat2d", "--steps", "2", "--input", "FILE")),
        "tiff": ("p.tiff", _picture("TIFF"), ("image", "sobel", "FILE", "out.png")),
        "jpeg": ("p.jpg", _picture("JPEG"), ("image", "blur", "FILE", "out.png")),
        "annotated": ("a.c", _ANNOTATED.encode(), ("annotate", "FILE", "--runs", "2", "--seconds", "1", "-o", "out.c")),
        "energy": ("r.csv", runs.encode(), ("energy", "jacobi2d", "--fit", "FILE", "--machine", "k20c")),
        "report": ("r.json", json.dumps(result).encode(), ("report", "FILE", "-o", "out.html")),
        "area points": (
            "p.csv",
            b"memory,kb,mm2\nregister,2,0.1\nregister,4,0.15\nregister,8,0.3\n",
            ("area", "gtx980", "--points", "FILE"),
        ),
        "mask": ("m.npy", _mask(), ("run", "heat2d", *small, "--where", "FILE")),
    }


def _replace(pattern: bytes, text: str) -> Callable[[bytes, random.Random], bytes]:
    return lambda data, draw: _some(re.compile(pattern), data, text.encode("utf-8", "surrogateescape"), draw)


def _some(pattern: "re.Pattern[bytes]", data: bytes, new: bytes, draw: random.Random) -> bytes:
    """Replace one of the matches, or append where there is none."""
    found = list(pattern.finditer(data))
    if not found:
        return data + new
    one = draw.choice(found)
    return data[: one.start()] + new + data[one.end() :]


def _noise(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(max(1, len(changed) // 40)):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


_NUMBER = rb"-?[0-9]+(?:\.[0-9]+)?"
_WORD = rb"[A-Za-z_][A-Za-z_0-9]{2,}"
Spoil = Callable[[bytes, random.Random], bytes]


def spoilers() -> dict[str, Spoil]:
    """Return every way to spoil a file, by name."""
    found: dict[str, Spoil] = {
        "empty": lambda _data, _draw: b"",
        "cut": lambda data, draw: data[: draw.randrange(len(data))],
        "cut short": lambda data, _: data[: len(data) // 2],
        "cut before the end": lambda data, _: data[:-2],
        "noise": _noise,
        "nothing but noise": lambda data, draw: draw.randbytes(len(data)),
        "a NUL": lambda data, draw: _noise(data[:40], draw) + b"\x00" + data[40:],
        "not UTF-8": lambda data, _: b"\xff\xfe\x80" + data,
        "a mark of byte order": lambda data, _: b"\xef\xbb\xbf" + data,
        "one long line": lambda data, _: data + b"A" * 2_000_000,
        "many lines": lambda data, _: data * 100,
        "deep brackets": lambda data, _: b"[" * 100_000 + data,
        "deep braces": lambda data, _: data + b'{"a":' * 50_000,
        "deep parentheses": lambda data, draw: _some(re.compile(_NUMBER), data, b"(" * 30_000 + b")" * 30_000, draw),
        "a deep table": lambda data, _: data + b"\n[" + b"a." * 20_000 + b"a]\n",
        "a pickle": lambda _data, _draw: pickle.dumps(_Bomb()),
        "an array of objects": lambda _data, _draw: _pickled_array(),
        "twice": lambda data, _: data + data,
        "backwards": lambda data, _: data[::-1],
        "an entity bomb": lambda data, _: b'<!DOCTYPE x [<!ENTITY a "' + b"&a;" * 1000 + b'">]>' + data,
    }
    found |= {f"number {text[:12]}": _replace(_NUMBER, text) for text in NUMBERS}
    found |= {f"word {text[:18]!r}": _replace(_WORD, text) for text in (*SHELL, *PYTHON, *PATHS)}
    found |= {f"number {text[:18]!r}": _replace(_NUMBER, text) for text in (*SHELL[:2], *PYTHON)}
    return found


def _pickled_array() -> bytes:
    stream = BytesIO()
    np.save(stream, np.array([_Bomb()], dtype=object), allow_pickle=True)
    return stream.getvalue()


COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("heat2d", "--shape", "16x16", "--steps", "2", "--tile", "none", "--boundary", "wrap", "--dtype", "float32"),
    "tune": ("heat2d", "--shape", "16x16", "--steps", "2", "--effort", "none", "--machine", "gtx980"),
    "predict": ("heat2d", "--shape", "16x16", "--steps", "2", "--machine", "gtx980", "--tile", "none"),
    "programs": ("heat2d",),
    "machines": ("gtx980",),
    "tilings": ("hybrid:t=4,s=8x8",),
    "area": ("gtx980",),
    "codesign": ("--workload", "2d", "--area", "400:420", "--grid", "coarse"),
    "energy": ("jacobi2d", "--machine", "k20c", "--shape", "64x64", "--steps", "8", "--tile", "none"),
    "validate": ("--log", "nowhere.log", "--machine", "v100"),
    "whatif": (
        "heat2d",
        "--machine",
        "gtx980",
        "--shape",
        "64x64",
        "--steps",
        "8",
        "--vary",
        "size",
        "--factors",
        "1,2",
    ),
    "petsc": ("-o", "nowhere/lib"),
    "chain": ("10", "20", "30", "--memory", "64"),
    "annotate": ("nowhere.c", "--seconds", "1"),
    "fuse": ("blur", "--shape", "64x64", "--machine", "gtx780"),
    "image": ("sobel", "nowhere.png", "out.png"),
    "report": ("--program", "heat2d", "--shape", "16x16", "--steps", "2", "--machine", "gtx980", "-o", "out.html"),
    "wisdom": ("forget", "0123456789ab"),
    "calibrate": ("--program", "nothing", "-o", "m.toml"),
}
"""Per command arguments that it takes; each is replaced by something hostile in turn."""


def arguments(command: str, draw: random.Random, count: int) -> list[tuple[str, ...]]:
    """Return command lines of which one argument is hostile."""
    texts = (*SHELL, *PYTHON, *(path for path in PATHS if "\x00" not in path), *NUMBERS[:6], "", " ", "x" * 50_000, "-")
    texts += (
        "4096x" * 200 + "1",
        "1e9x1e9",
        "heat2d\n[run]",
        "hybrid:" + "t=4," * 3000,
        "(" * 5000,
        "\U0001f4a5",
        "%s%n",
    )
    good = COMMANDS[command]
    places = [place for place, text in enumerate(good) if not text.startswith("-")]
    lines = []
    for _ in range(count):
        place = draw.choice(places)
        lines.append((command, *good[:place], draw.choice(texts), *good[place + 1 :]))
    return lines
