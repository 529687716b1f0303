"""What every command says, by two installed versions: texts, exit status, and keys and values of ``--json``.

    python benchmarks/transcripts.py OLD NEW [--only WORD] [--output FILE.json]

OLD and NEW are Python interpreters that import the versions, or files that an earlier ``--output`` wrote of NEW. Every
command runs once for people and once with ``--json``, in a folder of its version's own with stores of its own. Folders,
fingerprints and times are masked; where a command measures, every number of its texts is, and of its JSON keys and
kinds of values are compared. Everything else is compared as it is. The exit status is 1 if anything differs.
"""

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = Path(__file__).parents[1] / "examples"
GPU = "--machine gtx980 --shape 4096x4096 --steps 512"
SMALL = "--shape 64x96 --steps 8"
MODELS = {
    "predict": f"predict heat2d {GPU} --tile hybrid:t=16,s=8x64,threads=1x64 --explain",
    "predict-top": f"predict gradient2d {GPU} --top 3 --explain",
    "predict-threads": f"predict j2d5pt {GPU} --top 3 --thread-shapes",
    "predict-published": f"predict jacobi2d {GPU} --model published",
    "predict-cpu": "predict heat3d --machine zen3 --shape 200x200x200 --steps 100 --top 5",
    "predict-edp": f"predict heat2d --machine k20c {SMALL} --metric edp --top 2",
    "predict-recurrence": "predict lcs --machine k20c --shape 4096x8192",
    "predict-ranks": "predict heat2d --machine zen3 --shape 8192x8192 --steps 100 --ranks 16 --network slingshot",
    "predict-mine": f"predict mine.py:heat --machine h200 {SMALL} --dtype float64 --boundary wrap",
    "energy": "energy jacobi2d --machine k20c --shape 4096x4096 --steps 512",
    "energy-tile": "energy jacobi2d --machine k20c --shape 4096x4096 --steps 512 --tile hybrid:t=16,s=8x64",
    "energy-cap": "energy heat2d --machine k20c --shape 4096x4096 --steps 64 --cap 100 --clocks 0.5,1",
    "whatif": f"whatif heat2d {GPU} --vary bandwidth --reuse jacobi2d,gradient2d",
    "whatif-size": f"whatif jacobi2d {GPU} --vary size --factors 0.5,1",
    "tune-models": f"tune heat2d {GPU} --effort none --candidates 3",
    "machines": "machines",
    "machine": "machines gtx980",
    "programs": "programs",
    "program": "programs fdtd2d",
    "recurrence": "programs smith_waterman",
    "tilings": "tilings",
    "tiling": "tilings hybrid:t=8,s=8x64",
    "tilings-none": "tilings none",
    "tilings-streaming": "tilings streaming",
    "tilings-orthogonal": "tilings orthogonal",
    "tilings-skewed": "tilings skewed",
    "tilings-diamond": "tilings diamond:t=4,s=8x64",
    "tilings-plot": "tilings hexagonal --plot hexagonal.svg",
    "area": "area gtx980",
    "area-check": "area --check",
    "area-published": "area titanx --model published --no-caches",
    "codesign": "codesign --workload jacobi2d --area 200:400 --grid coarse --axis sm=16,24 --axis width=128 "
    "--axis shared=48,96 --insight all",
    "chain": "chain 936 1008 552 368 1016 616 544 --memory 65536",
    "chain-pareto": "chain 30 35 15 5 10 20 25 --memory 1024 --pareto --machine k20c --model published",
    "fuse": "fuse canny --shape 2048x2048 --machine gtx780 --top 2",
    "fuse-one": "fuse blur --shape 512x512 --machine gtx780 --fusion full --boundary wrap --model published",
    "report": f"report --program heat2d {GPU} -o heat.html",
    "validate": "validate --log j2d5pt.log --program j2d5pt --machine v100",
    "wisdom-empty": "wisdom list",
}
"""Commands that say the same every time."""
MEASURED = {
    "run": f"run heat2d {SMALL} --check",
    "run-tile": "run heat2d --shape 64x96 --steps 8 --tile hybrid:t=4,s=4x32 --threads 2 --boundary wrap --strict",
    "run-numpy": f"run wave2d {SMALL} --backend numpy --dtype float64",
    "run-mine": "run mine.py:heat --input u.npy --steps 5 --set alpha=0.2 --output out.npy",
    "run-snapshots": f"run heat2d {SMALL} --every 4 --snapshots s.npy --output s.npy",
    "run-table": "run smith_waterman --input a.fasta --input b.fasta --set gap_open=11",
    "run-lcs": "run lcs --shape 60x70 --check",
    "tune": f"tune heat2d {SMALL} --candidates 3 --seconds 20 --export best.c",
    "wisdom": "wisdom list",
    "wisdom-export": "wisdom export -o wisdom.json",
    "wisdom-import": "wisdom import wisdom.json",
    "wisdom-forget": "wisdom forget --all",
    "calibrate": "calibrate --quick --program jacobi1d -o here.toml",
    "image": "image blur photo.png blurred.png --sigma 2 --boundary mirror",
    "image-canny": "image canny photo.png edges.png",
    "chain-run": "chain 40 30 20 10 --memory 1024 --run",
    "annotate": "annotate axpy_pragma.c -o axpy.tuned.c --seconds 60 --runs 2",
    "shot": "shot v.npy --spacing 10 --source 20,300 --receiver-depth 20 --time 0.1 --cpml 8 -o traces.npz",
    "doctor": "doctor",
}
"""Commands that measure, in this order: some read what an earlier one wrote."""
REFUSED = {
    "no-program": f"run nosuch {SMALL}",
    "no-steps": "run heat2d --shape 64x96",
    "no-shape": "predict heat2d --steps 4",
    "bad-shape": "run heat2d --shape 64y96 --steps 8",
    "bad-rank": "predict heat2d --shape 64 --steps 8",
    "bad-machine": "predict heat2d --shape 64x96 --steps 8 --machine nosuch",
    "bad-tile": f"predict heat2d {GPU} --tile hybrid:t=16,q=8",
    "illegal-tile": f"predict heat2d {GPU} --tile hybrid:t=3,s=1x1",
    "bad-family": f"predict heat2d {GPU} --tile nosuch:t=2",
    "bad-boundary": f"run heat2d {SMALL} --boundary nosuch",
    "bad-option": f"run heat2d {SMALL} --nosuch",
    "bad-dtype": f"run heat2d {SMALL} --dtype float128x",
    "no-file": "run heat2d --input nosuch.npy --steps 2",
    "no-picture": "image blur nosuch.png out.png",
    "no-annotated": "annotate nosuch.c",
    "bad-chain": "chain 1 2",
    "bad-fusion": "fuse canny --shape 64x64 --machine gtx780 --fusion S1",
    "bad-area": "codesign --area 5:1",
    "no-log": "validate --log nosuch.log --machine v100",
    "no-command": "nosuch",
}
"""Commands that fail."""
COMMANDS = {**MODELS, **MEASURED, **REFUSED}
MASKS = [
    (re.compile(r"\b[0-9a-f]{12,}\b"), "FINGERPRINT"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?[\d.+:Z]*"), "DATE"),
    (re.compile(r"searched in .*"), "searched in TIME"),
    (re.compile(r"\b0\.\d+\.\d+(\.?(dev|rc)\d+)?\b"), "VERSION"),
]
_VARYING = re.compile(r".*\b(unstable|UNSTABLE|noisy|good|samples|Kendall's|first choice)\b.*")
"""Lines that say how well something could be measured."""
_NUMBER = re.compile(r"[+-]?\d[\d_.,]*(e[+-]?\d+)?( ?(ns|us|µs|ms|s|min|h|KiB|MiB|GiB|%)\b)?|\bnan\b|\binf\b")
_SPACES = re.compile(r"[ -]{2,}")


@dataclass(frozen=True)
class Said:
    """What one call of a command said: its exit status and both streams, masked."""

    status: int
    out: str
    err: str


def brought(folder: Path) -> None:
    """Fill a folder with what commands read."""
    folder.mkdir()
    for path in (*(EXAMPLES / "data").iterdir(), EXAMPLES / "annotated" / "axpy_pragma.c"):
        if path.is_file():
            shutil.copy(path, folder)
    np.save(folder / "v.npy", np.full((40, 60), 2500.0))
    configurations = [(b, s, w, n) for b in (2, 4, 8) for s in (2, 4) for w in (32, 64, 128) for n in (1, 2)]
    lines = [f"{b}_{s}_{w}_{n}_32 {100 + 7 * b + s + 3 * n}.5 GFLOPS\n" for b, s, w, n in configurations]
    (folder / "j2d5pt.log").write_text("".join(lines), encoding="utf-8")


def transcripts(python: str, commands: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Run commands with an interpreter and return what they said, by name and way (``text`` and ``json``)."""
    said: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) / "work"
        brought(folder)
        stores = {name: str(Path(room) / name) for name in ("TILEWRIGHT_STORE", "TILEWRIGHT_CACHE", "XDG_CONFIG_HOME")}
        there = {**os.environ, **stores, "TILEWRIGHT_THREADS": "2", "COLUMNS": "100", "NO_COLOR": "1"}
        there.pop("PYTHONPATH", None)
        for name, line in commands.items():
            for way, more in (("text", ()), ("json", ("--json",))):
                print(f"\r{python}: {name:24}", end="", file=sys.stderr, flush=True)
                call = [python, "-m", "tilewright", *line.split(), *more]
                done = subprocess.run(
                    call, check=False, cwd=folder, env=there, stdin=subprocess.DEVNULL, capture_output=True, text=True
                )
                measured = name in MEASURED
                texts = (done.stdout, done.stderr)
                out, err = (text.replace(room, "ROOM").replace(python, "PYTHON") for text in texts)
                if way == "json" and done.returncode == 0:  # its tables are those of the other way
                    document = json.loads(out)
                    out, err = json.dumps(kinds(document) if measured else document, indent=1), ""
                out = masked(out, measured=measured and way == "text")
                said.setdefault(name, {})[way] = vars(Said(done.returncode, out, masked(err, measured=measured)))
    print(file=sys.stderr)
    return said


def masked(text: str, *, measured: bool) -> str:
    """Return a text without what differs from run to run."""
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return _SPACES.sub("  ", _NUMBER.sub("N", _VARYING.sub("VARYING", text))) if measured else text


def kinds(document: object) -> object:
    """Return a document with the kinds of its numbers and texts in their place; lists keep their first entry."""
    if isinstance(document, dict):
        return {key: kinds(value) for key, value in document.items()}
    if isinstance(document, list):
        return [kinds(value) for value in document[:1]]
    return "number" if isinstance(document, int | float) and not isinstance(document, bool) else type(document).__name__


def read(source: str, commands: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return transcripts: of an interpreter, or from a file."""
    if source.endswith(".json"):
        known: dict[str, dict[str, Any]] = json.loads(Path(source).read_text(encoding="utf-8"))
        return known
    return transcripts(source, commands)


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return what differs, as lines for a person."""
    lines: list[str] = []
    for name, ways in new.items():
        for way, said in ways.items():
            before = old.get(name, {}).get(way)
            if before == said:
                continue
            lines.append(f"{name} ({way}): {COMMANDS[name]}")
            for key, value in said.items():
                was = "" if before is None else before[key]
                pairs = difflib.unified_diff(str(was).splitlines(), str(value).splitlines(), lineterm="", n=0)
                lines += [f"  {key} {line}" for line in pairs if not line.startswith(("---", "+++", "@@"))]
    return lines


def main() -> int:
    """Compare, print what differs, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="an interpreter, or a .json file of transcripts")
    parser.add_argument("new", help="an interpreter")
    parser.add_argument("--only", default="", help="commands whose name holds this")
    parser.add_argument("--output", help="keep the new transcripts, to give them as OLD later")
    asked = parser.parse_args()
    commands = {name: line for name, line in COMMANDS.items() if asked.only in name}
    old, new = read(asked.old, commands), read(asked.new, commands)
    if asked.output:
        Path(asked.output).write_text(json.dumps(new, indent=1), encoding="utf-8")
    found = differences(old, new)
    print(*found, f"{len(commands)} commands, each as text and as JSON; {len(found)} lines differ", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
