"""What commands print: nothing is cut, in a terminal of any width or in a pipe, where every row is one line."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import nothing_is_cut

from tilewright.base import tables
from tilewright.base.tables import Pairs, Table, table

GPU = ("--machine", "gtx980", "--shape", "4096x4096", "--steps", 512)
COMMANDS = {
    "predict": ("predict", "heat2d", *GPU, "--tile", "hybrid:t=16,s=8x64,threads=1x64", "--explain"),
    "predict-top": ("predict", "gradient2d", *GPU, "--top", 3, "--explain"),
    "predict-threads": ("predict", "j2d5pt", *GPU, "--top", 3),
    "predict-recurrence": ("predict", "lcs", "--machine", "k20c", "--shape", "4096x8192"),
    "energy": ("energy", "jacobi2d", "--machine", "k20c", *GPU[2:]),
    "energy-tile": ("energy", "jacobi2d", "--machine", "k20c", *GPU[2:], "--tile", "hybrid:t=16,s=8x64"),
    "whatif": ("whatif", "heat2d", *GPU, "--vary", "bandwidth", "--reuse", "jacobi2d,gradient2d"),
    "tune": ("tune", "heat2d", *GPU, "--effort", "none", "--candidates", 3),
    "machines": ("machines",),
    "machine": ("machines", "gtx980"),
    "programs": ("programs",),
    "program": ("programs", "fdtd2d"),
    "recurrence": ("programs", "smith_waterman"),
    "tilings": ("tilings",),
    "tiling": ("tilings", "hybrid:t=8,s=8x64"),
    "area": ("area", "gtx980"),
    "area-check": ("area", "--check"),
    "codesign": (
        "codesign", "--workload", "jacobi2d", "--area", "200:400", "--grid", "coarse", "--axis", "sm=16,24",
        "--axis", "width=128", "--axis", "shared=48,96", "--insight", "all",
    ),
    "chain": ("chain", 936, 1008, 552, 368, 1016, 616, 544, "--memory", 65536),
    "fuse": ("fuse", "canny", "--shape", "2048x2048", "--machine", "gtx780", "--top", 2),
    "wisdom": ("wisdom", "list"),
}  # fmt: skip
"""Commands that say the same on every computer; the others are run by ``test_examples.py`` under the same law."""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_whole_at_every_width(cli, golden, whole, name):
    done = cli(*COMMANDS[name])
    assert done.code == 0, done.err
    golden(f"commands/{name}.txt", re.sub(r"searched in .*|(?m:^host .*)", "…", done.out))


WIDE, WIDTHS = ("energy", "predict-top", "tilings"), (60, 80, 120)


def test_every_recorded_command_is_run():
    recorded = {path.name for path in (Path(__file__).parents[1] / "golden" / "commands").iterdir()}
    assert recorded == {
        f"{name}.txt" for name in (*COMMANDS, *(f"{name}.{width}" for name in WIDE for width in WIDTHS))
    }


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_terminal_of_a_certain_width(cli, golden, whole, name, width):
    cli(*COMMANDS[name])
    lines = [line for shown in whole for line in tables.lay_out(shown, width)]
    golden(f"commands/{name}.{width}.txt", "".join(f"{line}\n" for line in lines))


def test_a_terminal_is_asked_for_its_width_and_a_pipe_is_not():
    # readline sets it behind Python's back, where processes inherit it
    plain = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "tilewright", *map(str, COMMANDS["energy"])]
    piped = subprocess.run(command, capture_output=True, text=True, check=True, env={**plain, "COLUMNS": "60"})
    [row] = [line for line in piped.stdout.splitlines() if line.startswith("least energy ")]
    assert re.fullmatch(r"least energy +streaming:\S+ +1 +[0-9.]+ ms +[0-9.]+ +[0-9.]+", row)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 60, 0, 0))
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=plain):
        os.close(theirs)
        written = b""
        try:
            while part := os.read(ours, 65536):
                written += part
        except OSError:  # as a terminal ends
            os.close(ours)
    shown = written.decode().replace("\r\n", "\n")
    assert f"\nchosen by  least energy\ntiling     {row.split()[2]}\nclock      1\n" in shown
    assert max(map(len, shown.splitlines())) <= 60
    assert set(shown.split()) == {word for word in piped.stdout.split() if word.strip("-")}


def test_a_table_that_is_too_wide_is_folded_or_stacked():
    one = Table(
        (">n", "tiling", "what it is"), (("1", "hybrid:t=2", "the best of 12 tilings that were measured"),), "three"
    )
    assert tables.lay_out(one, None) == [
        "three",
        "n  tiling      what it is",
        "-  ----------  -----------------------------------------",
        "1  hybrid:t=2  the best of 12 tilings that were measured",
    ]
    assert tables.lay_out(one, 54)[-1] == "1 hybrid:t=2 the best of 12 tilings that were measured"
    assert tables.lay_out(one, 45)[2:] == [
        "-  ----------  ------------------------------",
        "1  hybrid:t=2  the best of 12 tilings that",
        "               were measured",
    ]
    assert tables.lay_out(one, 30) == [
        "three",
        "n           1",
        "tiling      hybrid:t=2",
        "what it is  the best of",
        "              12 tilings that",
        "              were measured",
    ]


def test_a_number_stays_with_its_unit_and_a_tiling_whole():
    tiling = "streaming:t=20,s=1024x456,threads=1x124"
    assert tables.lay_out("it takes 12.5 GB/s of 3 TB/s", 14) == ["it takes", "  12.5 GB/s of", "  3 TB/s"]
    assert tables.lay_out(f"tile {tiling} it is", 20) == ["tile", f"  {tiling}", "  it is"]
    assert tables.lay_out(Pairs({"tiling": tiling}), 20) == ["tiling", f"  {tiling}"]


def test_letters_of_two_columns_are_counted_as_two():
    lines = tables.lay_out(Table(("name", "x"), (("拡散", "1"), ("heat", "2"))), None)
    assert lines[2:] == ["拡散  1", "heat  2"]


WORDS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=12)
CELLS = st.lists(WORDS, max_size=6).map(" ".join)


@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=6)))
def test_no_table_is_cut(rows):
    nothing_is_cut(table([f">{i}" if i % 2 else f"c{i}" for i in range(len(rows[0]))], rows, "a title"))
    nothing_is_cut(Pairs({f"name {i}": row[0] for i, row in enumerate(rows)}))
    nothing_is_cut([" ".join(row) for row in rows])


@pytest.mark.parametrize(("words", "loaded"), [(("--version",), set()), (("run", "--help"), {"run"})])
def test_one_command_is_loaded_where_one_is_asked_for(words, loaded):
    script = (
        "import sys\nfrom tilewright.cli.app import COMMANDS, app\n"
        "app(sys.argv[1:], prog_name='tilewright', standalone_mode=False)\n"
        "there = {name for name in COMMANDS.values() if f'tilewright.cli.{name}' in sys.modules}\n"
        "print(*there, 'numpy' in sys.modules, file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
    assert found.stderr.split() == [*loaded, "False"]
