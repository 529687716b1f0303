"""Options and fixtures for every test."""

import difflib
import functools
import gc
import importlib.util
import io
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

BEGIN = pytest.StashKey[float]()
PROCESSOR_TIME = "processor time"
BUDGETS = {
    "verbs": 270,
    "laws": 190,
    "workloads": 180,
    "runtime": 75,
    "cli": 70,
    "": 65,
    "waves": 60,
    "schedules": 60,
    "distributed": 45,
    "codegen": 40,
    "tuning": 40,
    "faults": 30,
    "costs": 25,
    "programs": 25,
    "device": 15,
    "report": 10,
    "golden": 10,
    "base": 10,
    "reproduce": 10,
    "sparse": 5,
    "machines": 5,
}
"""Seconds of processor time that the tests of a folder take on a quiet server; nothing fails where one is over."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--update-golden`` and ``--host``."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew instead of comparing")
    parser.addoption("--host", choices=sorted(_hosts().HOSTS), help="describe this machine's processor as another one")


@functools.cache
def _hosts() -> ModuleType:
    path = Path(__file__).with_name("hosts") / "sitecustomize.py"
    spec = importlib.util.spec_from_file_location("described_hosts", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def pytest_configure(config: pytest.Config) -> None:
    """Describe the processor as asked, and let OpenMP's threads sleep where they wait.

    As many test processes as processors run beside those.

    For the same reason no example of Hypothesis's is too slow.
    """
    if host := config.getoption("--host"):
        _hosts().install(host)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    settings.register_profile("untimed", settings(deadline=None, suppress_health_check=[HealthCheck.too_slow]))
    settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of every test with parameters the first case of a default run is compiled as users compile."""
    seen = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test != item.nodeid and test not in seen and item.get_closest_marker("stress") is None:
            seen.add(test)
            item.add_marker(pytest.mark.optimised)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Look for no garbage while tests are collected: there is none, and each look is longer than the one before."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Look for garbage less often: what tens of thousands of tests and modules hold is none."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Take the processors that this process may use, and no more than memory allows on large machines."""
    return min(8, len(os.sched_getaffinity(0)))


def _processor_time() -> float:
    """Seconds of this process and of those that it waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Begin to count a test's processor time, that of its fixtures included."""
    item.stash[BEGIN] = _processor_time()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """End to count it."""
    try:
        return (yield)
    finally:
        item.user_properties.append((PROCESSOR_TIME, _processor_time() - item.stash[BEGIN]))


def pytest_terminal_summary(terminalreporter) -> None:
    """Print what tests counted, a section per folder of theirs, and their processor time beside its budget."""
    sections: dict[str, list[str]] = {}
    for report in terminalreporter.getreports("passed"):
        lines = [text for name, text in report.user_properties if name == "tally"]
        sections.setdefault(Path(report.nodeid.partition("::")[0]).parent.name, []).extend(lines)
    for folder, lines in sections.items():
        if lines:
            terminalreporter.section(f"counted in {folder}")
            for line in lines:
                terminalreporter.write_line(line)
    seconds: Counter[str] = Counter()
    for report in terminalreporter.getreports(""):
        room = report.nodeid.partition("::")[0].removeprefix("tests/").rpartition("/")[0].partition("/")[0]
        seconds[room] += dict(report.user_properties).get(PROCESSOR_TIME, 0)
    if sum(seconds.values()) > 0.1 * sum(BUDGETS.values()):  # not where a few files are run
        terminalreporter.section("seconds of processor time by folder, and their budgets")
        for room, spent in seconds.most_common():
            budget = BUDGETS.get(room, 0)
            terminalreporter.write_line(f"{spent:6.0f} of {budget:3} {room or 'files in no folder'}")
        terminalreporter.write_line(f"{sum(seconds.values()):6.0f} of {sum(BUDGETS.values()):3} in all")


class Terminal(io.StringIO):
    """A standard error at which somebody looks."""

    def isatty(self) -> bool:
        return True

    def until(self, text: str, seconds: float = 20.0) -> None:
        """Wait until a text is written; on a busy machine that may be a while."""
        end = time.monotonic() + seconds
        while text not in self.getvalue() and time.monotonic() < end:
            time.sleep(0.01)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Make standard error a terminal; in a test's body, since pytest sets it anew after the fixtures."""

    def opened() -> Terminal:
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return opened


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Print a line about what was counted at the end of the run, whichever process runs the test."""
    return functools.partial(record_property, "tally")


@pytest.fixture(autouse=True, scope="session")
def private_store(tmp_path_factory: pytest.TempPathFactory):
    """Nothing that was tuned or calibrated on this machine is seen by a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_STORE", str(tmp_path_factory.mktemp("store")))
        yield


@pytest.fixture
def private_folders(tmp_path, monkeypatch):
    """A store of the test's own, and two threads."""
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("TILEWRIGHT_THREADS", "2")
    from tilewright.runtime import warn

    warn.forget_warnings()


@pytest.fixture(autouse=True, scope="session")
def races_reported():
    """Whichever test makes a process's first OpenCL call, the interpreter of kernels reports data races."""
    from tilewright.runtime.devices import opencl

    opencl.prepare_oclgrind()


@pytest.fixture(scope="session")
def pocl(tmp_path_factory):
    """PoCL's device by its number, such as ``opencl:1``: work-groups are compiled to loops, in vectors and threads."""
    from tilewright.base.errors import TilewrightError
    from tilewright.runtime.devices import opencl

    os.environ.setdefault("POCL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "pocl"))
    try:
        platforms = [device.platform.name for device in opencl.devices()]
    except TilewrightError as error:
        pytest.skip(str(error))
    numbers = [number for number, name in enumerate(platforms) if name.startswith("Portable Computing")]
    if not numbers:
        pytest.skip("there is no PoCL: pip install pocl-binary-distribution")
    return f"opencl:{numbers[0]}"


@pytest.fixture(params=["oclgrind", "pocl"])
def opencl_device(request, capfd):
    """A device of an implementation of OpenCL; of the interpreter, which reports races and accesses out of bounds."""
    from tilewright.runtime.devices import opencl

    if request.param == "pocl":
        yield opencl.select(request.getfixturevalue("pocl").partition(":")[2])
        return
    pytest.importorskip("pyopencl", reason="needs pip install 'tilewright[opencl]'")
    yield opencl.select("oclgrind")
    said = "".join(capfd.readouterr()).lower()
    assert "race" not in said
    assert "invalid" not in said


@pytest.fixture(autouse=True, scope="session")
def verified():
    """Whatever IR a test prints is verified first."""
    from tests.oracles.verify import verify, verify_region

    from energy import kernels as gpu_energy
    from tilewright.codegen.gpu import emit as gpu_emit
    from tilewright.codegen.gpu import micro as gpu_micro
    from tilewright.codegen.print import c
    from tilewright.codegen.products import matmul_gpu
    from tilewright.sparse.lower import gpu as gpu_matrices
    from tilewright.workloads.annotated.lower import kernels as loop_kernels
    from tilewright.workloads.annotated.lower import lowering as loop_lowering
    from tilewright.workloads.pipelines.lower import device as gpu_pipelines
    from tilewright.workloads.tables.lower import gpu as gpu_table

    def first_verified(print_text: Callable[..., str], *, gpu: bool) -> Callable[..., str]:
        @functools.wraps(print_text)
        def printed(functions, *args, **rest) -> str:
            unit = tuple(functions)
            verify(unit, gpu=gpu)
            return print_text(unit, *args, **rest)

        return printed

    def region_verified(print_lines: Callable[..., list[str]]) -> Callable[..., list[str]]:
        @functools.wraps(print_lines)
        def printed(body, *args, **rest) -> list[str]:
            verify_region(body)
            return print_lines(body, *args, **rest)

        return printed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(c, "print_unit", first_verified(c.print_unit, gpu=False))
        for module in (gpu_emit, gpu_energy, gpu_micro, gpu_pipelines, gpu_table, gpu_matrices, matmul_gpu):
            patch.setattr(module, "print_gpu", first_verified(module.print_gpu, gpu=True))
        patch.setattr(loop_kernels, "print_kernels", first_verified(loop_kernels.print_kernels, gpu=True))
        patch.setattr(loop_lowering, "statement_lines", region_verified(loop_lowering.statement_lines))
        yield


@pytest.fixture(autouse=True, scope="session")
def interruptible():
    """Jobs in the background of a shell ignore Ctrl-C; what tests start must not inherit that."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def nothing_prepared():
    """Nothing that an earlier test prepared is used again, and what it was warned of is said again."""
    from tilewright.inputs import memo
    from tilewright.runtime import warn

    memo.forget()
    warn.forget_warnings()


@pytest.fixture(autouse=True)
def unoptimised(request: pytest.FixtureRequest):
    """Kernels are compiled without optimisation, in a seventh of the time, but in tests marked as ``optimised``.

    The stress run compiles as users do.
    """
    if any(request.node.get_closest_marker(name) for name in ("stress", "optimised")):
        yield
        return
    from tilewright.runtime.toolchains import cpu

    known = cpu.known

    def with_flag(command: tuple[str, ...], stamp: tuple[str, ...]) -> cpu.Toolchain:
        tools = known(command, stamp)
        return replace(tools, native=(*tools.native, "-O0"))

    with_flag.cache_clear = known.cache_clear
    with pytest.MonkeyPatch.context() as patch:  # its own: tests may undo theirs
        patch.setattr(cpu, "known", with_flag)
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compare text with a file of ``tests/golden``, or write it with ``--update-golden``."""
    folder = Path(__file__).parent / "golden"

    def compare(name: str, text: str) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        recorded = path.read_text(encoding="utf-8") if path.exists() else ""
        if recorded != text:
            lines = difflib.unified_diff(recorded.splitlines(), text.splitlines(), f"golden/{name}", "now", lineterm="")
            command = f"pytest {request.node.nodeid.partition('::')[0]} --update-golden"
            pytest.fail("\n".join([*lines, "", f"if that is meant, run: {command}"]), pytrace=False)

    return compare


@pytest.fixture
def running():
    """Return the ids of running processes whose environment or command line holds a text."""

    def find(needle: str) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal() or int(entry.name) == os.getpid():
                continue
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if needle.encode() in text and state != "Z":
                found.append(int(entry.name))
        return found

    return find


@pytest.fixture
def wait_until():
    """Wait until a condition holds, and say whether it does."""

    def wait(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.02)
        return condition()

    return wait
