"""What happens when one file of a compiler's kernel cache is cut or a bit of it flips: tilewright and its peers.

    python benchmarks/caches.py --output benchmarks/results/caches.json

Every subject is a script in `caches/`, as its users write it, with default settings and the cache that its manual
names. It runs once to fill the cache; then, for every fault, the cache is restored, the file of machine code is cut at
an offset or has one bit flipped, and the script runs again in a fresh process, and once more if that did not give the
right result. Cuts are spread evenly over the file; half of the flips hit any byte of it, the other half the
instructions alone. Where a subject names the same kernel differently from process to process (pystencils), the cache is
filled until six runs add nothing, and every file of it has the fault.

What the runs did is judged by their results and by how they ended:

    right           the first run gave the right result
    exception       the first run failed with an exception
    crash           the first run was killed by a signal
    hang            the first run did not end within the limit
    wrong           the first run ended well, with a wrong result
    damage stays    the damaged file is as it was after the last run: not rebuilt
    second run      what the second run did, where the first was not right
"""

import argparse
import collections
import importlib.metadata
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import environment

SCRIPTS = Path(__file__).parent / "caches"
SOURCE = Path(__file__).resolve().parents[1] / "src"
SUBJECTS = ("tilewright", "devito", "pystencils", "numba")
_EXECUTABLE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    Attributes:
        kind: cut, flip (any bit) or flip in instructions.
        offset: Byte where the file ends, or whose bit flips.
        bit: The bit, 0 to 7.
    """

    kind: str
    offset: int
    bit: int = 0

    def apply(self, content: bytes) -> bytes:
        """The damaged file."""
        if self.kind == "cut":
            return content[: self.offset]
        return content[: self.offset] + bytes([content[self.offset] ^ (1 << self.bit)]) + content[self.offset + 1 :]


def instructions(content: bytes) -> range:
    """Where the machine code lies: the largest executable section of the ELF file, or of the one inside of the file."""
    base = content.index(b"\x7fELF")
    table = struct.unpack_from("<Q", content, base + 40)[0]
    size, count = struct.unpack_from("<HH", content, base + 58)
    found = range(0)
    for i in range(count):
        flags, _, offset, length = struct.unpack_from("<QQQQ", content, base + table + i * size + 8)
        if flags & _EXECUTABLE and length > len(found):
            found = range(base + offset, base + offset + length)
    return found


def faults(content: bytes, count: int, seed: int) -> list[Fault]:
    """Cuts, flips anywhere and flips in instructions, ``count`` of each."""
    drawn = random.Random(seed)  # noqa: S311  (faults, not secrets)
    cuts = [Fault(kind="cut", offset=i * len(content) // count) for i in range(count)]
    anywhere = [Fault(kind="flip", offset=drawn.randrange(len(content)), bit=drawn.randrange(8)) for _ in range(count)]
    code = instructions(content)
    inside = [
        Fault(kind="flip in instructions", offset=drawn.choice(code), bit=drawn.randrange(8)) for _ in range(count)
    ]
    return [*cuts, *anywhere, *inside]


class Sandbox:
    """A home, a temporary folder and a working folder of one subject."""

    def __init__(self, subject: str, root: Path, limit: float) -> None:
        self.root, self.limit = root, limit
        for name in ("work", "tmp", "home"):
            (root / name).mkdir(parents=True)
        self.script = shutil.copy2(SCRIPTS / f"use_{subject}.py", root / "work" / "mine.py")
        np.save(root / "work" / "start.npy", start())

    def run(self, wanted: np.ndarray | None) -> tuple[str, str]:
        """Run the script in a fresh process: what happened, and the last line it said."""
        result = self.root / "work" / "result.npy"
        result.unlink(missing_ok=True)
        variables = {
            "HOME": str(self.root / "home"), "TMPDIR": str(self.root / "tmp"), "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        try:
            done = subprocess.run(
                [sys.executable, "mine.py"], cwd=self.root / "work", env=variables, capture_output=True, text=True,
                errors="replace", timeout=self.limit, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "hang", ""
        said = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
        if done.returncode < 0:
            return "crash", f"signal {-done.returncode}"
        if done.returncode:
            return "exception", said[:200]
        values = np.load(result)
        return ("right" if wanted is None or np.allclose(values, wanted, rtol=1e-4, atol=1e-5) else "wrong"), ""

    def cached(self) -> list[Path]:
        """The files of machine code: those of one ending that hold an ELF file, the largest first."""
        files = [path for path in self.root.rglob("*") if path.is_file() and path.name != "mine.py"]
        code = sorted(
            (path for path in files if b"\x7fELF" in path.read_bytes()), key=lambda path: -path.stat().st_size
        )
        return [path for path in code if path.suffix == code[0].suffix]

    def fill(self) -> None:
        """Run until six runs in a row add no file to the cache."""
        known, quiet = -1, 0
        while quiet < 6:
            if (filled := self.run(reference()))[0] != "right":
                raise SystemExit(f"{self.root.name} does not work here: {filled}")
            found = len(self.cached())
            known, quiet = found, (quiet + 1 if found == known else 0)


def start() -> np.ndarray:
    return np.random.default_rng(3).random((40, 50), dtype=np.float32)


def reference() -> np.ndarray:
    """20 steps in NumPy."""
    u = start()
    for _ in range(20):
        v = u.copy()
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        v[1:-1, 1:-1] += 0.1 * (around - 4 * u[1:-1, 1:-1])
        u = v
    return u


def judge(root: Path, fault: Fault, limit: float) -> dict[str, object]:
    """One fault in a copy of a filled sandbox that lies at the same path, since caches may know their paths."""
    box = Sandbox.__new__(Sandbox)
    box.root, box.limit = root, limit
    damaged = {path: fault.apply(path.read_bytes()) for path in box.cached()}
    for path, content in damaged.items():
        stamps = path.stat()
        path.write_bytes(content)
        os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    first, said = box.run(reference())
    second = first if first == "right" else box.run(reference())[0]
    stays = all(path.exists() and path.read_bytes() == content for path, content in damaged.items())
    used = set(box.cached()) <= set(damaged)
    said = said.replace(str(root), ".")
    return {**asdict(fault), "first": first, "said": said, "second": second, "stays": stays, "used": used}


def examine(subject: str, count: int, limit: float, seed: int) -> dict[str, object]:
    """All faults of one subject."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / subject
        box = Sandbox(subject, root, limit)
        box.fill()
        files = box.cached()
        content, name = files[-1].read_bytes(), files[-1].name
        kept = Path(folder) / "kept"
        shutil.copytree(root, kept)  # with times: caches may compare them
        cases = []
        for fault in faults(content, count, seed):
            shutil.rmtree(root)
            shutil.copytree(kept, root)
            cases.append(judge(root, fault, limit))
    return {
        "subject": subject, "version": importlib.metadata.version(subject), "file": name, "bytes": len(content),
        "files": len(files), "instructions": len(instructions(content)),
        "cases": [case for case in cases if case["used"]],
    }  # fmt: skip


def table(found: list[dict[str, object]]) -> str:
    """Counts per subject and kind of fault, in Markdown."""
    outcomes = ("right", "exception", "crash", "hang", "wrong")
    lines = [
        f"| subject | fault | {' | '.join(outcomes)} | damage stays | second run not right |",
        "| --- | --- |" + " ---: |" * (len(outcomes) + 2),
    ]
    for one in found:
        for kind in ("cut", "flip", "flip in instructions"):
            cases = [case for case in one["cases"] if case["kind"] == kind]
            counts = collections.Counter(case["first"] for case in cases)
            stays, bad = sum(case["stays"] for case in cases), sum(case["second"] != "right" for case in cases)
            row = [one["subject"], f"{len(cases)} {kind}", *(counts[name] for name in outcomes), stays, bad]
            lines.append("| " + " | ".join(str(value) for value in row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=SUBJECTS)
    parser.add_argument("--count", type=int, default=24, help="faults of each of the three kinds")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one run")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--output", type=Path, metavar="FILE.json")
    options = parser.parse_args()
    with ThreadPoolExecutor(environment.cores()) as pool:
        tasks = [pool.submit(examine, name, options.count, options.limit, options.seed) for name in options.subjects]
        found = [task.result() for task in tasks]
    for one in found:
        print(f"{one['subject']} {one['version']}: {one['file']}, {one['bytes']} bytes, {one['instructions']} of code")
    print(table(found))
    if options.output is not None:
        command = f"python benchmarks/caches.py --count {options.count} --seed {options.seed}"
        record = {"environment": environment.describe(1), "command": command, "subjects": found}
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
