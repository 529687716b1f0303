import os
import stat
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ToolchainError, UsageError
from tilewright.runtime import host
from tilewright.runtime.store import hosts
from tilewright.runtime.toolchains import cpu as toolchain
from tilewright.runtime.toolchains.cpu import compile_shared

pytestmark = pytest.mark.usefixtures("private_cache")


def _fake(tmp_path, body):
    path = tmp_path / "my cc"
    path.write_text(f"#!{sys.executable}\nimport sys, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def _use(monkeypatch, path):
    monkeypatch.setenv("TILEWRIGHT_CC", str(path))


def test_the_compiler_of_this_machine_works():
    tools = toolchain.toolchain()
    assert compile_shared(tools, "int tw_x(void) { return 1; }", strict=True).startswith((b"\x7fELF", b"\xcf\xfa"))
    assert toolchain.toolchain() == tools


@pytest.mark.skipif(host.cpu_features()[0] not in {"x86_64", "AMD64"}, reason="the processors are those of x86")
@pytest.mark.parametrize(("march", "bits", "fused"), [("x86-64", 128, False), ("haswell", 256, True)])
def test_a_command_that_names_a_processor_keeps_it(monkeypatch, march, bits, fused):
    plain = toolchain.find_command()[0]
    here = host.describe_cpu()
    assert toolchain.target_cpu() == here
    identity = hosts.identity()
    monkeypatch.setenv("TILEWRIGHT_CC", f"{plain} -march={march}")
    tools = toolchain.toolchain()
    assert not any(flag.startswith("-march") for flag in tools.flags(strict=False))
    assert (tools.simd_bits, tools.fused) == (bits, fused)
    cpu = toolchain.target_cpu()
    assert (cpu.simd_bits, cpu.fused) == (min(bits, here.simd_bits), fused and here.fused)
    assert hosts.identity() != identity  # a calibration of one is none of the other
    assert hosts.host().vector_width.value <= bits // 32


@pytest.mark.skipif(host.cpu_features()[0] not in {"x86_64", "AMD64"}, reason="the processors are those of x86")
@pytest.mark.parametrize(("march", "few"), [("haswell", True), ("skylake-avx512", False)])
def test_what_would_fill_sixteen_registers_is_left_out_where_the_compiler_knows_how(monkeypatch, tmp_path, march, few):
    real = toolchain.find_command()[0]
    tools = toolchain.toolchain_of((real, f"-march={march}"))
    knows = _knows(tools, "-fno-predictive-commoning")
    assert ("-fno-predictive-commoning" in tools.flags(strict=False)) == (few and knows)
    body = (
        "import subprocess\n"
        "if '-fno-predictive-commoning' in sys.argv: print('error: unknown option', file=sys.stderr); sys.exit(1)\n"
        f"sys.exit(subprocess.call([{real!r}, *sys.argv[1:]]))"
    )
    other = toolchain.toolchain_of((str(_fake(tmp_path, body)), f"-march={march}"))
    assert "-fno-predictive-commoning" not in other.flags(strict=False)


def _knows(tools, flag):
    """Whether a compiler takes a flag without a warning."""
    command = (*tools.command, "-Werror", flag, "-S", "-o", os.devnull, "-x", "c", os.devnull)
    return not subprocess.run(command, capture_output=True, check=False).returncode


def test_no_flag_gives_up_ieee_arithmetic():
    tools = toolchain.toolchain()
    for strict in (False, True):
        flags = tools.flags(strict=strict)
        assert not {"-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-ffinite-math-only"} & set(flags)
    assert "-ffp-contract=off" in tools.flags(strict=True)


def test_a_compiler_that_does_not_exist(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CC", "no-such-compiler")
    with pytest.raises(
        ToolchainError, match=r"TILEWRIGHT_CC names the compiler 'no-such-compiler', which does not exist"
    ):
        toolchain.toolchain()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ('{cc} -DX="a b"', ("-DX=a b",)),
        ("{cc} -DX='a b' -O1", ("-DX=a b", "-O1")),
        ("'{cc}'  -I/a\\ b", ("-I/a b",)),
        ("{cc}", ()),
    ],
)
def test_a_command_is_split_as_a_shell_does(monkeypatch, asked, words):
    cc = toolchain.find_command()[0]
    monkeypatch.setenv("TILEWRIGHT_CC", asked.format(cc=cc))
    assert toolchain.find_command() == (cc, *words)
    assert compile_shared(toolchain.toolchain(), "int tw_x(void) { return 1; }", strict=True)


def test_a_quotation_that_does_not_end(monkeypatch):
    monkeypatch.setenv("CC", 'gcc -DX="a b')
    monkeypatch.delenv("TILEWRIGHT_CC", raising=False)
    with pytest.raises(ToolchainError, match=r"""CC is no command, got 'gcc -DX="a b': No closing quotation.*close"""):
        toolchain.find_command()
    assert toolchain.target_cpu() == host.describe_cpu()


def test_no_compiler_at_all(monkeypatch, tmp_path):
    for name in ("TILEWRIGHT_CC", "CC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match=r"there is no C compiler on this machine.*apt install gcc"):
        toolchain.toolchain()


def test_a_compiler_that_fails_says_why(monkeypatch, tmp_path):
    _use(monkeypatch, _fake(tmp_path, "print('x.c:1: error: out of cheese', file=sys.stderr); sys.exit(1)"))
    with pytest.raises(ToolchainError, match=r"failed: x\.c:1: error: out of cheese"):
        toolchain.toolchain()


def test_a_compiler_that_writes_nothing(monkeypatch, tmp_path):
    _use(monkeypatch, _fake(tmp_path, "sys.exit(0)"))
    with pytest.raises(ToolchainError, match="wrote no output"):
        toolchain.toolchain()


def test_a_compiler_that_hangs(monkeypatch, tmp_path):
    calls = tmp_path / "calls"
    body = f"open({str(calls)!r}, 'a').write('|'); print('fake 1.0') if '--version' in sys.argv else time.sleep(60)"
    _use(monkeypatch, _fake(tmp_path, body))
    monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 0.3)
    with pytest.raises(ToolchainError, match=r"did not finish in 0\.3 s"):
        toolchain.toolchain()
    assert calls.read_text() in {"|", "||"}  # the version, and no second try with other options


def test_a_file_that_is_no_program(monkeypatch, tmp_path):
    path = tmp_path / "cc"
    path.write_bytes(b"\x00\x01garbage")
    path.chmod(0o755)
    _use(monkeypatch, path)
    with pytest.raises(ToolchainError, match="cannot be run"):
        toolchain.toolchain()


def test_without_openmp_kernels_run_on_one_thread(monkeypatch, tmp_path):
    real = toolchain.find_command()[0]
    body = (
        "import subprocess\n"
        "if '-fopenmp' in sys.argv: print('error: no libgomp', file=sys.stderr); sys.exit(1)\n"
        f"sys.exit(subprocess.call([{real!r}, *sys.argv[1:]]))"
    )
    _use(monkeypatch, _fake(tmp_path, body))
    with pytest.warns(UserWarning, match="cannot link OpenMP, so kernels run on one thread"):
        tools = toolchain.toolchain()
    assert not tools.openmp
    u = np.random.default_rng(0).random((40, 60)).astype("f")
    expected = tw.run("jacobi2d", u, steps=5, backend="numpy")
    np.testing.assert_allclose(tw.run("jacobi2d", u, steps=5, backend="c", threads=2), expected, rtol=1e-5)


@pytest.mark.parametrize("library", [True, False])
def test_apples_clang_takes_openmp_from_homebrew(monkeypatch, tmp_path, library):
    """A compiler that knows -fopenmp behind -Xclang alone, and has the library only where Homebrew keeps it."""
    real, prefix = toolchain.find_command()[0], tmp_path / "libomp"
    if library:
        prefix.mkdir()
    body = (
        "import subprocess\nwords = sys.argv[1:]\n"
        "if '--version' in words: print('Apple clang version 15.0.0 (clang-1500.3.9.4)'); sys.exit(0)\n"
        "if '-fopenmp' in words:\n"
        "    if words[words.index('-fopenmp') - 1] != '-Xclang':\n"
        "        print(\"clang: error: unsupported option '-fopenmp'\", file=sys.stderr); sys.exit(1)\n"
        f"    if '-L{prefix}/lib' not in words: print('ld: library not found', file=sys.stderr); sys.exit(1)\n"
        "words = ['-lgomp' if word == '-lomp' else word for word in words if word != '-Xclang']\n"
        f"sys.exit(subprocess.call([{real!r}, *words]))"
    )
    monkeypatch.setattr(toolchain, "_PREFIXES", (prefix,))
    _use(monkeypatch, _fake(tmp_path, body))
    with monkeypatch.context() as there:
        there.setattr(sys, "platform", "darwin")
        if library:
            tools = toolchain.toolchain()
            assert tools.openmp
            assert tools.flags(strict=True)[-5:-3] == ("-Xclang", "-fopenmp")
        else:
            with pytest.warns(UserWarning, match="one thread .hint: install its OpenMP library: `brew install libomp`"):
                tools = toolchain.toolchain()
            assert not tools.openmp
        toolchain.known.cache_clear()
        assert toolchain.toolchain() == tools  # as it was kept on disk
    u = np.random.default_rng(0).random((40, 60)).astype("f")
    expected = tw.run("jacobi2d", u, steps=5, backend="numpy")
    run = tw.run("jacobi2d", u, steps=5, backend="c", threads=2, record=True)
    assert run.threads == (2 if library else 1)
    np.testing.assert_allclose(run.state, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("system", "version", "words"),
    [
        ("linux", "Debian clang version 14.0.6", "apt install libomp-dev"),
        ("linux", "gcc (Debian 12.2.0) 12.2.0", "apt install libgomp1"),
        ("darwin", "Apple clang version 15.0.0", "brew install libomp"),
        ("win32", "clang version 18.1.8", "MinGW-w64's gcc"),
    ],
)
def test_hints_name_what_the_system_has(monkeypatch, system, version, words):
    monkeypatch.setattr(sys, "platform", system)
    assert words in toolchain._openmp_hint(version)


def test_a_compiler_for_windows_is_not_told_of_positions(monkeypatch, tmp_path):
    """Clang for Windows refuses -fPIC, and its libraries have no -lm."""
    real = toolchain.find_command()[0]
    body = (
        "import subprocess\n"
        "if {'-fPIC', '-lm'} & set(sys.argv):\n"
        "    print(\"error: unsupported option '-fPIC'\", file=sys.stderr); sys.exit(1)\n"
        f"sys.exit(subprocess.call([{real!r}, *sys.argv[1:], *(['-fPIC'] if '--version' not in sys.argv else [])]))"
    )
    _use(monkeypatch, _fake(tmp_path, body))
    with pytest.raises(ToolchainError, match="unsupported option '-fPIC'"):
        toolchain.toolchain()
    monkeypatch.setattr(sys, "platform", "win32")
    assert compile_shared(toolchain.toolchain(), "int tw_x(void) { return 1; }", strict=True)


def test_a_changed_compiler_is_looked_at_again(monkeypatch, tmp_path):
    real = toolchain.find_command()[0]
    body = f"import subprocess\nsys.exit(subprocess.call([{real!r}, *sys.argv[1:]]))"
    path = _fake(tmp_path, body)
    _use(monkeypatch, path)
    first = toolchain.toolchain()
    path.write_text(path.read_text() + "\n# a newer version\n")
    assert toolchain.toolchain().identity != first.identity


@pytest.mark.parametrize(("text", "count"), [("3", 3), ("2,1", 2), (" 4 ", 4)])
def test_threads_from_the_environment(monkeypatch, text, count):
    monkeypatch.delenv("TILEWRIGHT_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert host.thread_count() == count
    assert host.thread_count(7) == 7


@pytest.mark.parametrize("text", ["0", "-1", "many", "99999"])
def test_bad_threads_in_the_environment(monkeypatch, text):
    monkeypatch.setenv("TILEWRIGHT_THREADS", text)
    with pytest.raises(UsageError, match="TILEWRIGHT_THREADS is a whole number from 1 to 4096"):
        host.thread_count()


@pytest.mark.parametrize("asked", [0, -3, 2.5, True, 10**9])
def test_bad_threads(asked):
    with pytest.raises(UsageError, match="threads is a whole number from 1 to 4096"):
        host.thread_count(asked)


def test_the_cpu_describes_itself():
    cpu = host.describe_cpu()
    assert cpu.cores >= 1
    assert cpu.simd_bits in {128, 256, 512}
    assert 2**13 <= cpu.l1_bytes <= cpu.l2_bytes
    assert host.available_bytes() > 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
def test_a_compiler_that_wants_more_memory_than_it_may_have_fails():
    command = (*toolchain.find_command(), "-O1", "-fPIC", "-shared")
    text = "double f(double x) { return 2 * x; }"
    assert toolchain.shared_object(command, text, memory=2 * 2**30)
    for _ in range(10):
        with pytest.raises(ToolchainError, match="failed"):
            toolchain.shared_object(command, text, memory=24 * 2**20)
