"""Row 3: Ctrl-C and SIGTERM at random instants. Nothing stays behind; the longest time to the end is told."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMANDS = {
    "tune": ("tune", "j2d5pt", "--shape", "200x300", "--steps", "16", "--candidates", "8", "--seconds", "600"),
    "run": ("run", "heat2d", "--shape", "1500x1500", "--steps", "1000000"),
    "calibrate": ("calibrate", "-o", "m.toml"),
    "annotate": ("annotate", "a.c", "-o", "out.c", "--seconds", "600"),
}
LONGEST = 5.0
"""The latest instant, seconds after the command line is there; every command takes longer in a first run."""
PATIENCE = 60.0
ENDS = {0, 1, 130, 143, -signal.SIGINT, -signal.SIGTERM}
ANNOTATED = """void f(int n, double *y, double *x) {
  int i;
  /*@ begin PerfTuning (
    def performance_params { param UF[] = range(1,30); }
    def input_params { param N[] = [1000]; }
    def input_vars { decl dynamic double y[N] = 0; decl dynamic double x[N] = random; }
    def search { arg algorithm = 'Exhaustive'; }
  ) @*/
  int n = N;
  /*@ begin Loop (transform Unroll(ufactor=UF)
    for (i=0; i<=n-1; i++) y[i] = y[i] + 2.0*x[i];
  ) @*/
  for (i=0; i<=n-1; i++) y[i] = y[i] + 2.0*x[i];
  /*@ end @*/
  /*@ end @*/
}
"""


def answers(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM: before it has, the interpreter itself ends at signals."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_status_of_a_run_says_which_signal_ended_it(sent, status, tmp_path, wait_until):
    environment = {**os.environ, "TILEWRIGHT_CACHE": str(tmp_path / "cache")}
    (tmp_path / "cache").mkdir(mode=0o700)
    command = ("run", "heat2d", "--shape", "300x300", "--steps", "100000000", "--every", "1000", "--snapshots", "u.npy")
    with subprocess.Popen(
        [sys.executable, "-m", "tilewright", *command], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert wait_until(lambda: list(tmp_path.glob("u-*.npy")), PATIENCE)  # it computes
            process.send_signal(sent)
            _, said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == status
    assert said == ""


@pytest.mark.parametrize(
    ("command", "count"), [("run", 1), *(pytest.param(name, 10, marks=pytest.mark.stress) for name in COMMANDS)]
)
def test_signals_at_random_instants(command, count, tmp_path, running, wait_until, tally):
    draw, longest, codes = random.Random(command), 0.0, {}  # noqa: S311
    for number in range(count, 0, -1):
        folder, mark = tmp_path / str(number), f"tw-mark-{os.getpid()}-{time.monotonic_ns()}"
        for name in ("tmp", "cache", "work"):
            (folder / name).mkdir(parents=True, mode=0o700)
        (folder / "work" / "a.c").write_text(ANNOTATED)
        environment = {
            **os.environ, "TW_TEST_MARK": mark, "TMPDIR": str(folder / "tmp"),
            "TILEWRIGHT_CACHE": str(folder / "cache"), "TILEWRIGHT_STORE": str(folder / "store"),
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "tilewright", *COMMANDS[command]],
            cwd=folder / "work", env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert wait_until(lambda process=process: answers(process.pid), PATIENCE)
            time.sleep(draw.uniform(0.0, LONGEST))
            sent = time.monotonic()
            process.send_signal(signal.SIGINT if number % 2 else signal.SIGTERM)
            _, said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        longest = max(longest, time.monotonic() - sent)
        codes[process.returncode] = codes.get(process.returncode, 0) + 1
        assert "Traceback" not in said, said
        assert process.returncode in ENDS, said
        assert wait_until(lambda mark=mark: not running(mark))
        assert not list((folder / "tmp").iterdir())
    tally(f"{command}: {count} signals at random instants, at most {longest:.2f} s to the end, exit statuses {codes}")
