"""A newcomer's first ten minutes: README.md and the tutorial, word for word, in empty environments, timed.

    python benchmarks/first_minutes.py --output benchmarks/results/first_minutes.md

A virtual environment with nothing but pip, an empty home and no variable but HOME and PATH (and pip's own, if set):
without a C compiler on PATH, then with one, then with Oclgrind through the extra `opencl`. The sample data of the
repository (a photo, an array, two sequences, a stencil) lie in the folder.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILERS = re.compile(r"(.*-)?(gcc|g\+\+|cc|c\+\+|c89|c99|clang|clang\+\+|tcc|icx|cpp)(-[\d.]+)?")
_LONGEST = 110
LIMIT = 1600.0
"""Seconds that a step may take: ten times the longest one's, a calibration on two cores where nothing else runs."""
_TIMED_OUT = 124
"""What a step that was stopped ends with, as with `timeout`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing a reader does.

    Attributes:
        shown: As it stands in the document.
        words: The command and its arguments.
        status: What it must exit with.
        seconds, said, ended: Filled in: how long it took, the last line it printed, what it exited with.
    """

    shown: str
    words: tuple[str, ...]
    status: int = 0
    seconds: float = 0.0
    said: str = ""
    ended: int = 0

    @property
    def passed(self) -> bool:
        """Whether it ended as it must."""
        return self.ended == self.status


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def commands(document: str) -> list[str]:
    """Every line of a shell block that calls tilewright."""
    lines = [re.split(r"\s#", line)[0] for block in blocks(document, "bash") for line in block.splitlines()]
    return [part.strip() for line in lines for part in line.split(";") if part.strip().startswith("tilewright ")]


class Place:
    """An empty environment in a folder of its own; no step there may take more than a limit, in seconds."""

    def __init__(self, folder: Path, wheel: Path, limit: float = LIMIT) -> None:
        self.work, self.home, self.tools = folder / "work", folder / "home", folder / "bin"
        for each in (self.work, self.home, self.tools):
            each.mkdir()
        self.wheel, self.limit = wheel, limit
        for tool in (path for place in ("/usr/bin", "/bin") for path in Path(place).iterdir()):
            link = self.tools / tool.name
            if not COMPILERS.fullmatch(tool.name) and not link.exists():
                link.symlink_to(tool)
        self.compiler = False

    def environment(self) -> dict[str, str]:
        """All variables that a step sees."""
        system = "/usr/bin:/bin" if self.compiler else str(self.tools)
        index = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        return {"HOME": str(self.home), "PATH": f"{self.work / '.venv' / 'bin'}:{system}", **index}

    def do(self, step: Step) -> Step:
        """Run it; its time, its status and its last line. One that takes too long is stopped, and has failed."""
        begin = time.perf_counter()
        try:
            done = subprocess.run(
                step.words, cwd=self.work, env=self.environment(), capture_output=True, text=True, check=False,
                timeout=self.limit,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            late = f"error: stopped after {self.limit:g} s, the limit of a step (--limit)"
            done = subprocess.CompletedProcess(step.words, _TIMED_OUT, stdout="", stderr=late)
        seconds = time.perf_counter() - begin
        if done.returncode != step.status:
            print(done.stdout, done.stderr, file=sys.stderr)
        said = self.clean(outcome(done.stdout, done.stderr))
        shown = replace(step, seconds=seconds, said=said, ended=done.returncode)
        print(f"{seconds:7.1f} s  {'ok  ' if shown.passed else 'FAIL'}  {step.shown.splitlines()[0]}", file=sys.stderr)
        return shown

    def clean(self, text: str) -> str:
        """Without the paths of this machine."""
        return text.replace(str(self.work), ".").replace(str(self.home), "~")

    def size(self) -> int:
        """Bytes of the environment's files."""
        return sum(path.lstat().st_size for path in (self.work / ".venv").rglob("*") if not path.is_dir())


def outcome(printed: str, noted: str) -> str:
    """What a step came to, in a line: an error, what was drawn, or the last line; and whether a compiler was missed."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    notes = [line.strip() for line in noted.splitlines() if line.strip() and not line.startswith("WARNING")]
    told = next((line for line in notes if line.startswith(("error: ", "drew "))), "")
    last = told or (lines or notes or [""])[-1]
    if re.search(r"\S {3,}\S", last) or (printed and not told and not printed.splitlines()[-1].strip()):
        last = "a table"  # it may end in a line of its last cell alone, and ends in blanks
    last = last if len(last) < _LONGEST else f"{last[: _LONGEST - 3]}..."
    missed = any("no C compiler" in line for line in notes) and not told
    return f"{last}; a warning names the command that installs a compiler" if missed else last


def bring(place: Path) -> None:
    """The repository's sample data, which README's commands read."""
    shutil.copytree(ROOT / "examples" / "data", place / "examples" / "data")


def command(line: str) -> Step:
    return Step(shown=line, words=tuple(shlex.split(line)))


def program(place: Place, document: str) -> Step:
    """A document's Python blocks as one script, as they stand there."""
    name = Path(document).stem.lower() + "_page.py"
    (place.work / name).write_text("\n".join(blocks(document, "python")), encoding="utf-8")
    return Step(shown=f"the Python of {document}", words=("python", name))


def install(place: Place, extras: str) -> Step:
    named = f"{place.wheel}[{extras}]" if extras else str(place.wheel)
    shown = f'pip install "tilewright[{extras}]"' if extras else "pip install tilewright"
    return Step(shown=shown, words=("python", "-m", "pip", "install", "--quiet", "--no-cache-dir", named))


def first_line() -> Step:
    (line,) = [block.strip() for block in blocks("README.md", "bash") if "--check" in block and ".venv" in block][:1]
    return command(line.rpartition("&&")[2].strip().removeprefix(".venv/bin/"))


def walk(place: Place) -> dict[str, list[Step]]:
    """Everything, in a reader's order."""
    drawn = [line for line in commands("README.md") if any(word in line for word in ("--plot", " report ", ".png"))]
    others = [line for line in commands("README.md") if line not in drawn]
    bare = place.do(Step(shown="python3 -m venv .venv", words=(sys.executable, "-m", "venv", ".venv")))
    empty = place.size()
    found = {"Install": [bare, place.do(install(place, ""))]}
    added = (place.size() - empty) / 1e6
    found["Install"][-1] = replace(
        found["Install"][-1], said=f"adds {added:.0f} MB to the {empty / 1e6:.0f} of an empty one"
    )
    bring(place.work)
    readme = [command("tilewright doctor"), first_line(), program(place, "README.md"), *map(command, others)]
    compiled = ("smith_waterman", "calibrate")
    without = [replace(s, status=1) if any(word in s.shown for word in compiled) else s for s in readme]
    found["Without a compiler: NumPy computes; what cannot do without says so"] = [place.do(s) for s in without]
    place.compiler = True
    found["With gcc"] = [place.do(step) for step in readme]
    found["Drawings, reports and the tutorial: the extras"] = [
        place.do(step)
        for step in (
            install(place, "plot,picture"), *map(command, drawn), program(place, "docs/tutorial.md"),
            *map(command, commands("docs/tutorial.md")),
        )
    ]  # fmt: skip
    found["With Oclgrind: GPU kernels without a GPU"] = [
        place.do(step)
        for step in (
            install(place, "opencl"), command("tilewright doctor"),
            command("tilewright run heat2d --backend opencl --shape 64x64 --steps 8 --check"),
            command("tilewright run j2d5pt --backend opencl --shape 40x70 --steps 9 --tile hybrid:t=4,s=4x32 --check"),
        )
    ]  # fmt: skip
    return found


def page(found: dict[str, list[Step]], note: str, version: str) -> str:
    """The transcript as a page."""
    cores = len(os.sched_getaffinity(0))
    total = sum(step.seconds for steps in found.values() for step in steps)
    lines = [
        "# Transcript: README in an empty environment", "",
        "A newcomer's way through README and the tutorial, word for word: a fresh virtual environment, an empty home,",
        "no variable but `HOME` and `PATH`, installed from the wheel. Nothing was known beforehand: no calibration, no",
        f"wisdom, no compiled kernels. Version {version}, {total:.0f} seconds in all, one run on {cores} cores.",
        "`python benchmarks/first_minutes.py --output benchmarks/results/first_minutes.md` writes it anew. What NumPy",
        "computes without a compiler is many times slower than what a compiler makes of it.", *([note] if note else []),
        "",
    ]  # fmt: skip
    for title, steps in found.items():
        lines += [f"## {title}", "", "| step | seconds | last line |", "| --- | ---: | --- |"]
        for step in steps:
            said = step.said.replace("|", "\\|").strip()
            lines.append(f"| `{step.shown}` | {step.seconds:.1f} | {said} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, metavar="FILE.md")
    parser.add_argument("--note", default="", help="a sentence about the machine, for the page")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, metavar="SECONDS",
        help=f"after which a step is stopped and has failed, {LIMIT:g} by default; more where the machine is busy",
    )  # fmt: skip
    asked = parser.parse_args()
    target = asked.output
    with tempfile.TemporaryDirectory() as folder:
        build = ("-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, str(ROOT))
        subprocess.run([sys.executable, *build], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        found = walk(Place(Path(folder), wheel, asked.limit))
    text = page(found, asked.note, wheel.name.split("-")[1])
    if target is None:
        print(text)
    else:
        target.write_text(text, encoding="utf-8")
    if failed := [step.shown for steps in found.values() for step in steps if not step.passed]:
        sys.exit(f"failed: {'; '.join(failed)}")


if __name__ == "__main__":
    main()
