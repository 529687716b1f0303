"""Puts errors into parts of the package, one at a time, and says which ones the tests catch.

    python tests/mutations.py --per-class 20 --seed 1 --parts schedules codegen

First every test runs once, to learn which lines it reaches (``tests/mutation_map.py``); then every error meets only
the tests that reach its line, the quickest first, until one fails; those that compare texts with recorded ones come
last, and are counted apart. Everything is kept below ``--folder``: started
again, the command goes on where it was. ``--again`` tries the survivors anew. A test that catches an error is also run
without it and has to pass then. See ``docs/reliability.md``.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # not this folder, whose own ones libraries may take for others

from tests.mutants import CLASSES, Site, mutate, sites
from tests.mutation_map import IMPORTED, LAYERS, SHARED

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tilewright"
RECORDED = ("golden/test_golden", "laws/test_recorded_texts")
"""Tests that say of every text of code that it changed, not that it is wrong; no error meets them but the survivors."""
CHOICES = "laws/test_recorded_choices"
"""The same of what is chosen and counted where runs are cut into parts or taken back."""
RANKS = {"distributed": ("distributed/test_ranks", "distributed/test_out_of_core")}
"""Files whose tests run a folder in processes that they start, where no map is written: they reach all of it."""
QUICK = 15.0
"""Seconds of the tests that run first; the others follow if these find nothing."""
LONGEST = 1800
"""Seconds of a file of tests whose map is written."""


@dataclass(slots=True)
class Known:
    """What the tests reach.

    Attributes:
        seconds: Time of every test.
        lines: Tests by file and line.
        files: Tests by file, for lines that an import runs.
        beside: The tests of every file of tests: what one of them put into a cache, the others use.
        sound: Tests known to pass on an unchanged copy.
        most: Seconds of tests that an error meets at most.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    files: dict[str, set[str]] = field(default_factory=dict)
    beside: dict[str, set[str]] = field(default_factory=dict)
    sound: set[str] = field(default_factory=set)
    most: float = 240.0

    def add(self, record: dict[str, dict[str, dict[str, list[int]]]]) -> None:
        """Take in the map of one file of tests."""
        tests = set(record["seconds"])
        self.seconds |= record["seconds"]
        for test in tests:
            self.beside.setdefault(test.partition("::")[0], set()).add(test)
        for context, files in record["lines"].items():
            if context == IMPORTED:
                continue
            who = tests if context == SHARED else {context} & tests
            for file, numbers in files.items():
                self.files.setdefault(file, set()).update(who)
                for number in numbers:
                    self.lines.setdefault((file, number), set()).update(who)

    def tests(self, site: Site) -> tuple[list[str], list[str]]:
        """The tests that reach a site, and the others of their files; the quickest first."""
        found: set[str] = set()
        for line in range(site.line, site.end + 1):
            found |= self.lines.get((site.file, line), set())
        if not found or not site.local:
            found |= self.files.get(site.file, set())
            for file in importers(site.file):
                found |= self.files.get(file, set())
        started = tuple(f"tests/{name}.py::" for name in RANKS.get(site.file.partition("/")[0], ()))
        found |= {test for test in self.seconds if test.startswith(started)}
        files = {test.partition("::")[0] for test in found}
        others = {test for file in files for test in self.beside[file]} - found

        def order(test: str) -> tuple[float, str]:
            return self.seconds[test], test

        return sorted(found, key=order), sorted(others, key=order)

    def parts(self, site: Site) -> list[list[str]]:
        """The same, first the quick ones, neighbours side by side; no more than :attr:`most`."""
        found, others = self.tests(site)
        recorded = [test for test in found if compares_texts(test)]
        quick, slow, total = [], [], 0.0
        for test in [test for test in found + others if not compares_texts(test)]:
            total += self.seconds[test]
            if total <= self.most or not quick:
                (quick if not quick or (total <= QUICK and test in found) else slow).append(test)
        place: dict[str, int] = {}
        for position, test in enumerate(quick + slow):
            place.setdefault(test.partition("::")[0], position)
        parts = [sorted(part, key=lambda test: place[test.partition("::")[0]]) for part in (quick, slow)]
        return [part for part in (*parts, recorded) if part]


def compares_texts(test: str) -> bool:
    """Whether a test says of texts that they changed."""
    return any(file in test for file in (*RECORDED, CHOICES))


def importers(file: str) -> list[str]:
    """The files that take names from a file."""
    package, _, name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".").rpartition(".")
    package = f"tilewright.{package}".removesuffix(".").replace(".", r"\.")
    taken = re.compile(rf"^from {package}(?:\.{name} import|\simport .*\b{name}\b)", re.MULTILINE)
    return [str(path.relative_to(PACKAGE)) for path in modules() if taken.search(path.read_text(encoding="utf-8"))]


def modules() -> list[Path]:
    """The files that get errors."""
    parts = [PACKAGE / part for part in LAYERS]
    return [path for part in parts for path in (sorted(part.rglob("*.py")) if part.is_dir() else [part])]


class Worker:
    """A process that runs tests of a tree, each time in a child of its own."""

    def __init__(self, tree: Path, folder: Path) -> None:
        environment = {
            **surroundings(folder),
            "PYTHONPATH": str(tree / "src"),
            "TILEWRIGHT_CACHE": str(folder / "cache"),
            "TILEWRIGHT_STORE": str(folder / "store"),
        }
        command = ["nice", "-n", "10", sys.executable, str(Path(__file__).with_name("mutation_worker.py"))]
        self._process = subprocess.Popen(
            command, cwd=tree, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, arguments: Sequence[str], seconds: int, output: Path, **environment: str) -> int:
        """Return the status of pytest with these arguments, in so much processor time."""
        request = {"arguments": arguments, "seconds": seconds, "output": str(output), "environment": environment}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


class Copy:
    """A copy of the package and its tests, and a process that runs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("src", "tests", "examples", "docs", "benchmarks", "reproduce", ".ci", ".github"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for pattern in ("pyproject.toml", "mkdocs.yml", "LICENSE", "CITATION.cff", "*.md"):
            for path in ROOT.glob(pattern):
                shutil.copy(path, folder / path.name)
        compiled = [
            sys.executable,
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode",
            "checked-hash",
            str(folder / "src"),
        ]
        subprocess.run(compiled, check=True)
        self.worker = Worker(folder, folder)

    def run(self, tests: Sequence[str], seconds: float) -> str:
        """Return the test that failed, or an empty text."""
        arguments, output = self.folder / "arguments.txt", self.folder / "output.txt"
        arguments.write_text("\n".join(tests), encoding="utf-8")
        options = [f"@{arguments}", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line", "-rfE"]
        status = self.worker.run(options, int(60 + 4 * seconds), output)
        if status == 0:
            return ""
        said = output.read_text(encoding="utf-8", errors="replace")
        named = [line.split(" ", 1)[1] for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return named[0].split(" - ")[0] if named else f"(ended with {status})"


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of tests: a C compiler without optimisation, and threads that wait without turning."""
    compiler = folder / "cc"
    if not compiler.exists():
        folder.mkdir(parents=True, exist_ok=True)
        compiler.write_text(f'#!/bin/sh\nexec {shutil.which("cc") or "gcc"} "$@" -O0\n', encoding="utf-8")
        compiler.chmod(0o755)
    threads = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **threads, "CC": str(compiler)}


def learn(folder: Path, processes: int) -> Known:
    """Run every file of tests whose map is missing or older than the file."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    maps = {
        path: folder / ("_".join(path.relative_to(ROOT / "tests").with_suffix("").parts) + ".json") for path in files
    }
    old = [path for path in files if not maps[path].exists() or maps[path].stat().st_mtime < path.stat().st_mtime]

    workers = [Worker(ROOT, folder) for _ in range(processes if old else 0)]

    def record(path: Path) -> None:
        worker, output = workers.pop(), maps[path].with_suffix(".txt")
        try:
            options = [str(path), "-q", "-p", "no:cacheprovider", "-p", "tests.mutation_map"]
            status = worker.run(options, LONGEST, output, MUTATION_MAP=str(maps[path]))
        finally:
            workers.append(worker)
        if status not in {0, 1, 5}:  # all passed, some failed, or there are none here
            maps[path].unlink(missing_ok=True)
            said = output.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise SystemExit(f"{path.relative_to(ROOT)} cannot be run: {said}")
        failed = json.loads(maps[path].read_text(encoding="utf-8"))["failed"]
        without = f", without what fails: {', '.join(failed)}" if failed else ""
        sys.stdout.write(f"learned what {path.relative_to(ROOT)} reaches{without}\n")

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(record, old))
    known = Known()
    for path in maps.values():
        if path.exists():
            known.add(json.loads(path.read_text(encoding="utf-8")))
    return known


def named_sites(paths: Iterable[Path]) -> dict[str, Site]:
    """Every place of some files where an error can be put in, by a name that other lines of its file do not change."""
    found: dict[str, Site] = {}
    for path in paths:
        file = str(path.relative_to(PACKAGE))
        lines = path.read_text(encoding="utf-8").splitlines()
        often: Counter[str] = Counter()
        for site in sites(PACKAGE, file):
            name = f"{file}: {lines[site.line - 1].strip()}: {site.what}"
            often[name] += 1
            found[f"{name} #{often[name]}" if often[name] > 1 else name] = site
    return found


def choose(per_class: int, seed: int, parts: Sequence[str], folder: Path) -> dict[str, Site]:
    """So many sites of every class, the classes in turn; a folder keeps its choice while the sources change.

    Every part has about as many as another, however small it is.
    """
    every = {name: site for name, site in named_sites(modules()).items() if site.file.partition("/")[0] in parts}
    kept = folder / f"sample-{per_class}-{seed}-{'all' if set(parts) == set(LAYERS) else '-'.join(parts)}.json"
    if not kept.exists():
        taken: Counter[str] = Counter()
        drawn = []
        for kind in CLASSES:
            some = [name for name, site in every.items() if site.kind == kind]
            random.Random(f"{seed}/{kind}").shuffle(some)  # noqa: S311  (reproducible, not secret)
            drawn.append(_of_every_part(some, per_class, taken))
        names = [name for turn in range(per_class) for part in drawn for name in part[turn : turn + 1]]
        kept.write_text(json.dumps(names, indent=0), encoding="utf-8")
    return {name: every[name] for name in json.loads(kept.read_text(encoding="utf-8")) if name in every}


def _of_every_part(names: Sequence[str], count: int, taken: Counter[str]) -> list[str]:
    """The first names of the parts that have had the fewest so far; the files that are in no folder are one."""
    waiting: dict[str, list[str]] = {}
    for name in names:
        file = name.partition(": ")[0]
        waiting.setdefault(file.partition("/")[0] if "/" in file else "", []).append(name)
    found = []
    while waiting and len(found) < count:
        part = min(waiting, key=lambda each: taken[each])
        taken[part] += 1
        found.append(waiting[part].pop(0))
        waiting = {name: left for name, left in waiting.items() if left}
    return found


def attack(copy: Copy, known: Known, site: Site) -> str:
    """Return what catches a mutation, or an empty text."""
    target = copy.folder / "src" / "tilewright" / site.file
    text = target.read_text(encoding="utf-8")
    for some in known.parts(site):
        part, found = some, "unsound"
        while part and found:
            target.write_text(mutate(text, site), encoding="utf-8")
            try:
                found = copy.run(part, sum(known.seconds[test] for test in part))
            finally:
                target.write_text(text, encoding="utf-8")
            if found and _sound(copy, known, found, part):
                return found
            part = [test for test in part if test != found]
    return ""


def _sound(copy: Copy, known: Known, found: str, part: list[str]) -> bool:
    """Whether a failure is the mutation's: what failed passes without it."""
    if found not in known.seconds:  # no test's: nothing can be imported, or the process ended
        if copy.run(part[:1], known.seconds[part[0]]):
            raise SystemExit(f"the tests of the map cannot be run: {found}")
        return True
    if found not in known.sound:
        if copy.run([found], known.seconds[found]):
            return False
        known.sound.add(found)
    return found in part


class Log:
    """What is known of every mutation, one line each."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, threading.Lock()
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.results: dict[str, dict[str, str]] = {entry["identity"]: entry for entry in map(json.loads, lines)}

    def write(self, entry: dict[str, str]) -> None:
        """Add a line."""
        with self.lock:
            self.results[entry["identity"]] = entry
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


def report(chosen: dict[str, Site], results: dict[str, dict[str, str]], equal: dict[str, str]) -> list[str]:
    """A table by class, and what survived."""
    rows: dict[str, Counter[str]] = {kind: Counter() for kind in (*CLASSES, "all")}
    survivors = []
    for name, site in chosen.items():
        if name not in results:
            continue
        by = results[name]["caught_by"]
        state = "survived" if not by else "recorded" if compares_texts(by) else "caught"
        if name in equal and state != "caught":
            state = "equal"
        for kind in (site.kind, "all"):
            rows[kind][state] += 1
        if state == "survived":
            survivors.append(f"survived: {site} [{results[name]['tests']} tests]")
    lines = [
        "| Class | Put in | Caught by results | By recorded texts | No error | Survived | Caught of errors |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind, row in rows.items():
        caught = row["caught"] + row["recorded"]
        errors = caught + row["survived"]
        share = f"{100 * caught / errors:.1f} %" if errors else "-"
        numbers = " | ".join(str(row[state]) for state in ("caught", "recorded", "equal", "survived"))
        lines.append(f"| {kind} | {sum(row.values())} | {numbers} | {share} |")
    return [*lines, *survivors]


def main() -> None:
    """Inject mutations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--per-class", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", nargs="+", default=LAYERS, choices=LAYERS, help="where errors are put in")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--most", type=float, default=Known().most, help="seconds of tests that an error meets at most")
    parser.add_argument("--again", action="store_true", help="try what survived anew")
    parser.add_argument("--only", default="", help="sites whose description holds this text")
    parser.add_argument("--stop", type=float, default=float("inf"), help="begin nothing new after so many seconds")
    parser.add_argument("--report", action="store_true", help="only print what is known")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutations")
    options = parser.parse_args()
    begin = time.monotonic()
    options.folder = options.folder.resolve()  # tests run in copies
    options.folder.mkdir(parents=True, exist_ok=True)
    chosen = choose(options.per_class, options.seed, options.parts, options.folder)
    chosen = {name: site for name, site in chosen.items() if options.only in str(site)}
    equal = json.loads((ROOT / "tests" / "mutations_without_effect.json").read_text(encoding="utf-8"))
    log = Log(options.folder / "log.jsonl")
    waiting = [
        name
        for name in chosen
        if name not in log.results or (options.again and not log.results[name]["caught_by"] and name not in equal)
    ]
    if waiting and not options.report:
        known = replace(learn(options.folder / "map", options.processes), most=options.most)
        copies = [Copy(options.folder / f"copy{number}") for number in range(options.processes)]

        def work(name: str) -> None:
            if time.monotonic() - begin > options.stop:
                return
            site, copy = chosen[name], copies.pop()
            try:
                found = attack(copy, known, site)
            finally:
                copies.append(copy)
            tests = str(sum(map(len, known.parts(site))))
            log.write({"identity": name, "class": site.kind, "caught_by": found, "tests": tests})
            sys.stdout.write(f"{site.kind}: {site}: {found or f'SURVIVED {tests} tests'}\n")
            sys.stdout.flush()

        with ThreadPoolExecutor(options.processes) as pool:
            list(pool.map(work, waiting))
    sys.stdout.write("\n".join(report(chosen, log.results, equal)) + "\n")


if __name__ == "__main__":
    main()
