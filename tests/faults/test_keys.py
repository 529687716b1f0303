"""Row 8 for what is kept besides kernels and wisdom: each part of a key changed alone is another key."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from tilewright.plan import read_target
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.store import hosts, wisdom
from tilewright.runtime.toolchains import cpu as toolchain
from tilewright.sparse import choices, petsc
from tilewright.verbs.tuning import tune as tune_task
from tilewright.workloads.chains import times as chain_times

TEXT = 'extern "C" __global__ void k() {}'
LOG = "ptxas info    : Used 8 registers, 0 bytes smem"


def test_each_part_of_a_cubins_key_changed_alone_misses(folders, monkeypatch, tally):
    compiled = []
    monkeypatch.setattr(nvrtc, "_compile", lambda *asked: compiled.append(asked) or (b"\x7fELF", LOG))
    monkeypatch.setattr(nvrtc, "version", lambda: "12.4")

    def compilations(text=TEXT, architecture="sm_90", **how):
        before = len(compiled)
        found = nvrtc.compile_cuda(text, architecture, **how)
        assert (found.cubin, found.resources.registers, found.architecture) == (b"\x7fELF", 8, architecture)
        return len(compiled) - before

    assert (compilations(), compilations()) == (1, 0)
    assert (compilations(text=TEXT + " "), compilations(architecture="sm_80"), compilations(strict=True)) == (1, 1, 1)
    for name, value in (("version", lambda: "12.5"), ("_VERSION", nvrtc._VERSION + 1)):
        with monkeypatch.context() as patch:
            patch.setattr(nvrtc, name, value)
            assert (compilations(), compilations()) == (1, 0), name
    assert compilations() == 0
    tally("parts of a cubin's key changed alone: 5 of 5 miss, the old key still hits")


@dataclass(frozen=True, slots=True, kw_only=True)
class _What:
    name: str = "some kernel"
    moved: int = 3


KEPT = {
    "calibration": (hosts.identity, hosts, ("cpu_features", "available_cpus", "compiler_identity")),
    "times of products": (
        lambda: chain_times._key("float32", 2), chain_times, ("cpu_features", "compiler_identity", "_VERSION"),
    ),
    "choices of sparse kernels": (
        lambda: choices.key(_What(), "float32", 2), choices, ("cpu_features", "compiler_identity", "_VERSION"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KEPT)
def test_what_was_measured_belongs_to_one_machine_and_compiler(kind, monkeypatch, tally):
    key, module, names = KEPT[kind]
    known = key()
    assert key() == known
    found = {known}
    for name in names:
        with monkeypatch.context() as patch:
            patch.setattr(module, name, "another" if name.startswith("_") else lambda: "another")
            found.add(key())
    assert len(found) == 1 + len(names)
    tally(f"parts of the key of the {kind} changed alone: {len(names)} of {len(names)} are other keys")


def test_what_is_asked_for_is_part_of_a_key():
    keys = {chain_times._key(dtype, threads) for dtype in ("float32", "float64") for threads in (1, 2)}
    asked = [(_What(), "float32", 2), (_What(), "float64", 2), (_What(), "float32", 1), (_What(moved=4), "float32", 2)]
    assert (len(keys), len({choices.key(*each) for each in asked})) == (4, 4)


def test_each_part_of_a_plugins_key_changed_alone_misses(folders, monkeypatch, tally):
    tools = toolchain.toolchain()
    built = []
    monkeypatch.setattr(petsc, "compile_shared", lambda *_, **__: built.append(1) or b"library")
    one = petsc.Petsc(version="3.20.1", compiler=("mpicc",), options=("-I/a",), dtype="float64")
    changed = [
        (replace(one, version="3.20.2"), tools), (replace(one, compiler=("cc",)), tools),
        (replace(one, options=("-I/b",)), tools), (replace(one, dtype="float32"), tools),
        (one, replace(tools, identity=tools.identity + "x")), (one, replace(tools, native=(*tools.native, "-g"))),
    ]  # fmt: skip
    keys = {petsc._compiled(*each)[1] for each in [(one, tools), *changed]}
    with monkeypatch.context() as patch:
        patch.setattr(petsc, "cpu_features", lambda: ("another",))
        keys.add(petsc._compiled(one, tools)[1])
    assert len(keys) == len(built) == len(changed) + 2
    petsc._compiled(one, tools)
    assert len(built) == len(keys)
    tally(f"parts of a plug-in's key changed alone: {len(changed) + 1} of {len(changed) + 1} miss")


def test_each_part_of_a_tuning_logs_key_changed_alone_is_another_log(folders, monkeypatch, tally):
    problem, here = make_problem(program("heat2d"), (64, 64), 8), wisdom.circumstances()
    one = {"problem": problem, "target": read_target("c", 2), "strict": False, "metric": "time"}

    def path(change=(), *, steps=8, circumstances=here):
        values = {**one, **dict(change)}
        asked = SimpleNamespace(strict=values.pop("strict"), metric=values.pop("metric"))
        return tune_task.log_path(SimpleNamespace(asked=asked, **values), steps, circumstances)

    changes = [
        {"problem": replace(problem, shape=(64, 65))}, {"problem": replace(problem, steps=9)},
        {"problem": replace(problem, dtype="float64")}, {"target": read_target("c", 1)}, {"strict": True},
        {"metric": "energy"},
    ]  # fmt: skip
    paths = [path(change) for change in [{}, *changes]]
    paths.append(path(steps=4))
    elsewhere = [replace(here, **{part: "another"}) for part in ("device_key", "compiler_key", "version")]
    paths += [path(circumstances=there) for there in elsewhere]
    with monkeypatch.context() as patch:
        patch.setattr(tune_task, "_PROTOCOL", "another")
        paths.append(path())
    assert len(set(paths)) == len(paths)
    assert path() == paths[0]
    tally(f"parts of a tuning log's key changed alone: {len(paths) - 1} of {len(paths) - 1} are other logs")
