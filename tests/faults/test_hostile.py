"""Row 9: hostile files and command lines. Nothing is executed, nothing written elsewhere, the answer comes in time."""

import random
import resource
import signal
import warnings
from collections import Counter
from pathlib import Path

import pytest

from tilewright.cli.app import app

from . import hostile
from .conftest import sizes

SECONDS = 30.0
"""Processor time that one input may cost; the time on the clock is other people's as well."""
ROOM = 16 * 2**30
"""Address space for this process and those it starts."""
OURS = {"out.png", "out.c", "out.html", "out.h", "m.toml", "cache", "store", "tmp"}


def _exit_status(args):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a library that warns about a file is not at issue
            app(args, prog_name="tilewright")
    except SystemExit as ended:
        return ended.code or 0
    return 0


class _Shell:
    """Runs commands in this process, and looks at what they leave behind."""

    def __init__(self, folder, capsys, patch):
        self.folder, self.capsys, self.codes = folder, capsys, Counter()
        self.wrong = []
        patch.chdir(folder)
        (folder / "tmp").mkdir()
        patch.setenv("TMPDIR", str(folder / "tmp"))
        patch.setattr("tempfile.tempdir", None)
        signal.signal(signal.SIGPROF, self.late)

    def late(self, *_):
        raise TimeoutError(f"more than {SECONDS} s of processor time")

    def __call__(self, what, args):
        before = {path.name for path in self.folder.iterdir()}
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            code = _exit_status([str(arg) for arg in args])
        except TimeoutError:
            code = "too late"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        seen = self.capsys.readouterr()
        wrong = self.wrong_with(code, seen.err, {path.name for path in self.folder.iterdir()} - before)
        if wrong:
            self.wrong.append(f"{what}: {wrong}\n{args!r:.300}\n{seen.err[:1500]}")
        self.codes[code] += 1

    def wrong_with(self, code, error, new):
        """Say what is wrong with how a command ended, or return an empty text."""
        checks = {
            f"exit status {code}": code in {0, 1, 2},
            "a traceback": "Traceback" not in error,
            "an internal error": "internal error" not in error,
            "no message": code == 0 or bool(error.strip()),
            "a long message": code == 0 or (len(error.splitlines()) <= 8 and len(error) < 4000),
            f"new files {sorted(new)}": new <= OURS,
            "executed": not (self.folder.parent / hostile.TRAP).exists(),
            "temporary files": not list((self.folder / "tmp").iterdir()),
        }
        return ", ".join(name for name, good in checks.items() if not good)

    def judge(self):
        """Fail with everything that was wrong."""
        assert not self.wrong, f"{len(self.wrong)} wrong\n\n" + "\n\n".join(self.wrong)


@pytest.fixture
def shell(folders, capsys, monkeypatch):
    (folders / "inside").mkdir()
    for name in ("BACKEND", "BOUNDARY", "DTYPE", "MACHINE", "MODEL", "STRICT", "THREADS"):
        monkeypatch.delenv(f"TILEWRIGHT_{name}", raising=False)
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, before[1]))  # a device without end must not fill the machine
    yield _Shell(folders / "inside", capsys, monkeypatch)
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.stress
def test_the_good_files_are_good(shell):
    """What is spoilt below is understood before."""
    for what, (name, data, command) in hostile.good().items():
        Path(name).write_bytes(data)
        shell(what, [name if arg == "FILE" else arg for arg in command])
        Path(name).unlink()
        assert shell.codes[0] == sum(shell.codes.values()), what


@sizes(2, 41)
def test_hostile_files_of_every_format(shell, tally, count):
    draw, spoilers = random.Random(hostile.SEED), hostile.spoilers()  # noqa: S311
    tried = 0
    for what, (name, data, command) in hostile.good().items():
        names = list(spoilers) if count >= len(spoilers) else draw.sample(list(spoilers), count)
        for spoiler in names:
            Path(name).write_bytes(spoilers[spoiler](data, draw))
            shell(f"{what}: {spoiler}", [name if arg == "FILE" else arg for arg in command])
            Path(name).unlink()
            tried += 1
    shell.judge()
    tally(
        f"hostile files: {tried} over {len(hostile.good())} formats; exit statuses {dict(sorted(shell.codes.items()))}"
    )


@sizes(1, 12)
def test_hostile_arguments_of_every_command(shell, tally, count):
    draw, tried = random.Random(hostile.SEED), 0  # noqa: S311
    for command in hostile.COMMANDS:
        for line in hostile.arguments(command, draw, count):
            shell(command, line)
            tried += 1
    commands = len(hostile.COMMANDS)
    shell.judge()
    tally(f"hostile arguments: {tried} over {commands} commands; exit statuses {dict(sorted(shell.codes.items()))}")


ODD_FILES = {"a folder": ".", "a device without end": "/dev/zero", "a device without content": "/dev/null",
             "not there": "nowhere", "a link to itself": "loop"}  # fmt: skip


@pytest.mark.parametrize(
    "kind", [*list(ODD_FILES)[:1], *(pytest.param(k, marks=pytest.mark.stress) for k in list(ODD_FILES)[1:])]
)
def test_what_is_no_file(shell, tally, kind):
    Path("loop").symlink_to("loop")
    tried = 0
    for what, (name, _, command) in hostile.good().items():
        if what in {"settings", "calibration"}:
            continue
        place = Path(ODD_FILES[kind])
        if kind.startswith("a device"):  # under the name that the format wants
            Path(name).symlink_to(place)
            place = Path(name)
        shell(f"{what}: {kind}", [str(place) if arg == "FILE" else arg for arg in command])
        Path(name).unlink(missing_ok=True)
        tried += 1
    shell.judge()
    assert not shell.codes[0] or kind == "a device without content"
    tally(f"files that are {kind}: {tried}; exit statuses {dict(sorted(shell.codes.items()))}")
