"""The catalogue of machines, machine files and the host's defaults."""

import dataclasses
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.base.errors import UsageError
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.machines.files import HOST, load, names, parse, to_toml
from tilewright.machines.machine import AREA_PARAMETERS, PARAMETERS, Machine
from tilewright.machines.parameters import Quantity

INTERFACE = ["gtx980", "titanx", "k20c", "gtx590", "gtx780", "gtx750", "c2070", "c1060", "p100", "v100", "a100", "h100"]
INTERFACE += ["h200", "rtx4090", "zen3", "host"]  # and k20c again, with its other set of energies

SMALL = """
schema = 1
name = "small"
title = "A small machine"
kind = "gpu"
[quantities]
sm_count = { value = 2, unit = "1", source = "estimated" }
vector_width = { value = 8, unit = "1", source = "estimated" }
shared_bytes = { value = 4096, unit = "B", source = "estimated" }
dram_bandwidth = { value = 1e9, unit = "B/s", source = "measured", low = 0.9e9, high = 1.1e9 }
barrier_seconds = { value = 1e-8, unit = "s", source = "estimated" }
launch_seconds = { value = 1e-6, unit = "s", source = "estimated" }
clock = { value = 1e9, unit = "Hz", source = "datasheet" }
flop_cycles = { value = 1, unit = "1", source = "estimated" }
special_cycles = { value = 8, unit = "1", source = "estimated" }
load_cycles = { value = 1, unit = "1", source = "estimated" }
loop_cycles_1d = { value = 1, unit = "1", source = "estimated" }
loop_cycles_2d = { value = 2, unit = "1", source = "estimated" }
loop_cycles_3d = { value = 3, unit = "1", source = "estimated" }
fp64_ratio = { value = 0.5, unit = "1", source = "datasheet" }
[c_iter]
heat2d = { value = 1e-8, unit = "s", source = "measured" }
"""


def test_names_are_the_interface():
    assert [name for name in names() if name != "k20c-regression"] == INTERFACE


def test_every_machine_loads_with_provenance():
    for name in INTERFACE[:-1]:
        machine = load(name)
        assert machine.name == name, name
        assert machine.kind == ("cpu" if name == "zen3" else "gpu"), name
        known = machine.known()
        assert known.keys() >= {parameter for parameter, schema in PARAMETERS.items() if schema.needed}, name
        for parameter, quantity in known.items():
            assert quantity.source != "measured", parameter  # no code of this project was timed on these machines
            schema = PARAMETERS[parameter]
            assert machine.kind in schema.kinds, name
            assert quantity.unit == schema.unit, name
            if quantity.source == "estimated":
                assert quantity.low <= quantity.value <= quantity.high, parameter
                assert quantity.low < quantity.high or parameter == "fp64_ratio", parameter
                assert quantity.note, parameter
            if quantity.source == "paper":
                assert quantity.note, parameter
        if machine.kind == "cpu":
            continue
        assert machine.peak_dram_bandwidth.value >= machine.dram_bandwidth.value, name
        assert machine.block_shared_bytes.value <= machine.shared_bytes.value, name


@pytest.mark.parametrize(
    ("name", "sm", "bandwidth", "barrier", "launch", "c_iter"),
    [
        ("gtx980", 16, 7.36e-3, 7.96e-10, 9.24e-7, (3.39e-8, 3.68e-8, 3.11e-8, 6.09e-8, 1.55e-7, 1.36e-7)),
        ("titanx", 24, 5.42e-3, 6.74e-10, 9.00e-7, (3.83e-8, 4.23e-8, 3.81e-8, 7.60e-8, 1.64e-7, 1.44e-7)),
    ],
)
def test_tables_2_to_4_of_the_time_model(name, sm, bandwidth, barrier, launch, c_iter):
    machine = load(name)
    assert (machine.sm_count.value, machine.vector_width.value, machine.max_blocks.value) == (sm, 128, 32)
    assert (machine.shared_bytes.value, machine.registers.value) == (96 * 1024, 65536)
    assert 1e9 / machine.dram_bandwidth.value == pytest.approx(bandwidth, rel=1e-12)
    assert (machine.barrier_seconds.value, machine.launch_seconds.value) == (barrier, launch)
    order = ("jacobi2d", "heat2d", "laplacian2d", "gradient2d", "heat3d", "laplacian3d")
    assert tuple(machine.iteration_seconds(program).value for program in order) == c_iter
    assert machine.iteration_seconds("jacobi1d") is None


def test_tables_of_the_other_papers():
    platforms = {name: load(name) for name in ("gtx590", "gtx780", "gtx750", "c2070", "c1060")}
    table = {
        name: (m.sm_count.value, m.shared_bytes.value // 1024, m.max_threads.value, m.max_blocks.value)
        for name, m in platforms.items()
    }
    assert table == {
        "gtx590": (16, 48, 1536, 8),
        "gtx780": (12, 48, 2048, 16),
        "gtx750": (4, 64, 2048, 32),
        "c2070": (14, 48, 1536, 8),
        "c1060": (30, 16, 1024, 8),
    }
    assert platforms["c2070"].sm_count.value * platforms["c2070"].vector_width.value == 448
    assert platforms["c1060"].sm_count.value * platforms["c1060"].vector_width.value == 240
    k20c = load("k20c")
    assert (k20c.static_watts.value, k20c.global_word_joules.value) == (48, 2.2e-9)


PRINTED = {
    "Prajapati et al., PPoPP 2017, table 2": {"sm_count", "vector_width", "shared_bytes", "registers", "max_blocks"},
    "Ben Cheikh et al. 2015, table 3": {
        "sm_count", "shared_bytes", "block_shared_bytes", "max_blocks", "max_threads", "max_block_threads",
    },
    "OrCuda, Mametjanov et al. 2012, table I": {
        "sm_count", "clock", "shared_bytes", "block_shared_bytes", "registers", "max_threads", "max_block_threads",
    },
}  # fmt: skip
"""What the papers' tables of platforms print."""


@pytest.mark.parametrize("table", PRINTED)
def test_a_table_is_named_as_the_source_of_what_it_prints_and_of_nothing_else(table):
    named = [parameter for name in INTERFACE[:-1] for parameter, one in load(name).known().items() if one.note == table]
    assert set(named) == PRINTED[table]


def test_a_machine_file_on_disk(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    machine = load(str(path))
    assert isinstance(machine, Machine)
    assert machine.dram_bandwidth == Quantity(value=1e9, unit="B/s", source="measured", low=0.9e9, high=1.1e9)
    assert machine.registers is None
    assert machine.iteration_seconds("heat2d").value == 1e-8
    assert machine.to_dict()["quantities"]["sm_count"]["value"] == 2


def test_what_is_there_but_no_machine_file_is_called_that(tmp_path):
    (tmp_path / "mine.txt").write_text(SMALL)
    for path, kind in ((tmp_path, "a folder"), (tmp_path / "mine.txt", "a file that does not end in .toml")):
        with pytest.raises(UsageError, match=f"FILE.toml, and '{re.escape(str(path))}' is {kind}"):
            load(str(path))
    for name in ("x" * 5000, "a\0b"):
        with pytest.raises(UsageError, match="there is no machine"):
            load(name)


def test_a_bad_machine_file_is_one_sentence():
    for old, new, message in [
        ("schema = 1", "schema = 2", "must have schema = 1, got 2"),
        ("schema = 1", "schema = true", "must have schema = 1, got True"),
        ("schema = 1", "", "must have schema = 1, got None .hint: a machine file begins with schema = 1"),
        (SMALL, "# of nothing", "the machine file 'x' is empty .hint: `tilewright calibrate -o FILE.toml` writes one"),
        ('kind = "gpu"', 'kind = "fpga"', "one of gpu, cpu, got 'fpga'"),
        ('kind = "gpu"', 'kind = "gpu"\ncolour = 3', "unknown key 'colour'"),
        ("sm_count =", "sm_cuont =", "unknown key 'sm_cuont'.*did you mean sm_count"),
        ("value = 2,", 'value = "2",', "'value' of sm_count of 'x' is a number, got '2'"),
        ("value = 2,", "value = true,", "is a number, got True"),
        ("value = 2,", "value = 2.5,", "whole number, got 2.5"),
        ("value = 2,", "value = 0,", "must be above 0, got 0"),
        ("value = 2,", "value = nan,", "finite number of at least 0, got nan"),
        ("value = 1e9, unit", "value = -1e9, unit", "finite number of at least 0"),
        ('unit = "B/s"', 'unit = "GB/s"', "must be 'B/s', got 'GB/s'"),
        ("low = 0.9e9", "low = 2e9", "lies in its range"),
        ('source = "measured", low', 'source = "guessed", low', "source of a quantity is one of"),
        ('source = "measured", low', "low", "dram_bandwidth of 'x' lacks source"),
        ("fp64_ratio", "#", "lacks quantities.fp64_ratio"),
        ("[quantities]", "[[quantities]]", "'quantities' of the machine file 'x' is a mapping, got"),
        ("value = 0.5,", "value = 7,", "fp64_ratio = 7, where 0.0001 to 2 are plausible"),
        ("[quantities]", "[quantities", "is not TOML"),
        ('title = "A small machine"', 'title = ""', "'title' of the machine file 'x' is a text that is not empty"),
    ]:
        assert old in SMALL, (old, new, message)
        with pytest.raises(UsageError, match=message):
            parse(SMALL.replace(old, new, 1), "x")


def test_all_that_is_missing_is_named_at_once():
    sheet = """
schema = 1
name = "mine"
kind = "gpu"
[quantities]
sm_count = { value = 100, unit = "1", source = "datasheet" }
[area]
"""
    with pytest.raises(UsageError) as refused:
        parse(sheet, "mine.toml")
    said, needed = refused.value.message, [n for n, each in PARAMETERS.items() if each.needed and n != "sm_count"]
    areas = [name for name, each in AREA_PARAMETERS.items() if each.needed]
    missing = f"title, quantities.{{{', '.join(needed)}}}, area.{{{', '.join(areas)}}}"
    assert said == f"the machine file 'mine.toml' lacks {missing}"
    assert 'source = "estimated"' in refused.value.hint


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"sm_count": 100, "die_sm_count": 16}, "sm_count = 100, which is more than die_sm_count = 16"),
        ({"static_watts": 3554}, "static_watts = 3554 W, where 0 to 1500 W are plausible"),
        ({"clock": 2}, "clock = 2 Hz, where 100000 to 1e+11 Hz are plausible"),
        ({"dram_bandwidth": 900}, "dram_bandwidth = 900 B/s, where"),
        ({"shared_bytes": 96, "block_shared_bytes": 98304}, "block_shared_bytes = 98304 B, which is more than shared_"),
        (
            {"clock": 1.2, "static_watts": 1e6},
            "clock = 1.2 Hz, where 100000 to 1e+11 Hz are plausible; static_watts = 1e+06",
        ),
        ({"global_word_joules": 2.2}, "global_word_joules = 2.2 J, where"),
        ({"memory_bytes": 80}, "memory_bytes = 80 B, where"),
    ],
)
def test_what_no_machine_has_is_refused_in_one_sentence(values, said):
    whole = load("k20c")
    changed = {n: dataclasses.replace(getattr(whole, n), value=v, low=None, high=None) for n, v in values.items()}
    with pytest.raises(UsageError, match=re.escape(said)):
        parse(to_toml(dataclasses.replace(whole, **changed)), "mine.toml")


def machine_with(name, value):
    """A machine file in which one parameter has a value, and nothing else may be wrong but what it is a part of."""
    parameter = PARAMETERS[name]
    whole = load("zen3" if parameter.kinds == ("cpu",) else "k20c")
    quantity = Quantity(value=value, unit=parameter.unit, source="datasheet")
    return to_toml(dataclasses.replace(whole, **{name: quantity}))


BOUNDED = {name: each for name, each in PARAMETERS.items() if each.between != (0.0, math.inf)}


def test_a_value_out_of_its_range_is_refused_in_one_sentence():
    for name, parameter in BOUNDED.items():
        low, high = parameter.between
        below = [0.5 * low] if low and not parameter.whole else []
        for value in [2.0 * high, *below]:
            with pytest.raises(UsageError, match=rf"has .*\b{name} = .*, where .* are plausible"):
                parse(machine_with(name, value), "mine.toml")


def test_sizes_clocks_watts_and_fractions_have_ranges():
    """Every size on a chip, rate, energy and fraction; times and ratios have none that a machine could not beat."""
    unbounded = PARAMETERS.keys() - BOUNDED.keys()
    assert not {name for name in unbounded if PARAMETERS[name].unit in {"B", "B/s", "Hz", "W", "J", "mm^2"}}
    fractions = [name for name in PARAMETERS if "fraction" in name or "threshold" in name]
    assert {PARAMETERS[name].between for name in fractions} == {(0.0, 1.0)}


@pytest.mark.parametrize("name", [name for name, each in PARAMETERS.items() if each.within])
def test_a_part_is_never_more_than_its_whole(name):
    part, whole = PARAMETERS[name], PARAMETERS[name].within
    value = load("k20c").known().get(whole) or Quantity(value=part.between[1] / 4, unit=part.unit, source="datasheet")
    machine = parse(machine_with(name, math.floor(value.value)), "mine.toml")
    more = {
        whole: dataclasses.replace(value, value=value.value, low=None, high=None),
        name: dataclasses.replace(getattr(machine, name), value=math.floor(1.5 * value.value)),
    }
    with pytest.raises(UsageError, match=rf"{name} = .*, which is more than {whole} = "):
        parse(to_toml(dataclasses.replace(machine, **more)), "mine.toml")


def test_what_is_divided_by_is_above_zero():
    for name in [name for name, each in PARAMETERS.items() if each.positive or each.whole]:
        with pytest.raises(UsageError, match=rf"^{name} of 'mine.toml' must be above 0, got 0"):
            parse(machine_with(name, 0), "mine.toml")


def test_a_parameter_is_declared_by_its_field():
    """What a machine is made of, its file's keys, their order and their estimates are the fields of one class."""
    fields = [
        each for each in dataclasses.fields(Machine) if each.name not in {"name", "title", "kind", "area", "c_iter"}
    ]
    assert [each.name for each in fields] == list(PARAMETERS)
    for each in fields:
        declared = PARAMETERS[each.name]
        assert declared.meaning
        assert declared.needed == (each.default is dataclasses.MISSING)
        if declared.estimate:
            assert each.default is declared.estimate
            assert declared.estimate.source == "estimated"
            assert declared.estimate.low <= declared.estimate.value <= declared.estimate.high
            assert declared.estimate.note
            assert declared.between[0] <= declared.estimate.low <= declared.estimate.high <= declared.between[1]


def test_unknown_and_unreadable_machines(tmp_path):
    with pytest.raises(UsageError, match=r"no machine 'gtx98'.*did you mean gtx980"):
        load("gtx98")
    with pytest.raises(UsageError, match="cannot be read"):
        load(str(tmp_path / "absent.toml"))
    big = tmp_path / "big.toml"
    big.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(UsageError, match="at most 1 MiB"):
        load(str(big))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not TOML: 'utf-8' codec"):
        load(str(binary))
    deep = tmp_path / "deep.toml"
    deep.write_text("a = " + "[" * 100_000, encoding="utf-8")
    with pytest.raises(UsageError, match="not TOML"):
        load(str(deep))


def test_host_follows_the_description():
    description = CpuDescription(
        cores=4, simd_bits=256, l1_bytes=2**15, l2_bytes=2**20, l3_bytes=2**23, clock_hz=3e9, model_name="A CPU"
    )
    machine = host_machine(description)
    assert (machine.name, machine.kind, machine.title) == ("host", "cpu", "A CPU")
    assert (machine.sm_count.value, machine.vector_width.value, machine.shared_bytes.value) == (4, 8, 2**20)
    assert machine.sm_count.source == "description"
    estimated = [name for name in PARAMETERS if getattr(machine, name) and getattr(machine, name).source == "estimated"]
    assert {"dram_bandwidth", "launch_seconds", "row_seconds"} <= set(estimated)
    for name in estimated:
        quantity = getattr(machine, name)
        assert quantity.low <= quantity.value <= quantity.high
        assert quantity.note


def test_the_bandwidth_of_a_host_grows_with_its_cores_and_as_a_root_beyond_eight():
    description = CpuDescription(cores=1, simd_bits=256, l1_bytes=0, l2_bytes=0, l3_bytes=0, clock_hz=3e9)
    one, *others = (host_machine(replace(description, cores=cores)).dram_bandwidth.value for cores in (1, 3, 8, 32))
    assert [each / one for each in others] == [3.0, 8.0, 16.0]


def test_host_survives_a_cpu_that_says_nothing():
    machine = host_machine(CpuDescription(cores=0, simd_bits=0, l1_bytes=0, l2_bytes=0, l3_bytes=0, clock_hz=0.0))
    assert machine.sm_count.value == machine.vector_width.value == 1
    assert machine.clock.source == "estimated"
    assert re.match("this machine", machine.title)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("A100", "a100"),
        ("RTX 4090", "rtx4090"),
        ("GTX980", "gtx980"),
        ("Titan-X", "titanx"),
        ("K20C_Regression", "k20c-regression"),
    ],
)
def test_names_in_capitals_with_blanks_and_dashes(name, meant):
    assert load(name) is load(meant)


def test_every_machine_of_the_catalogue():
    for name in [name for name in names() if name != HOST]:
        assert parse(to_toml(load(name)), name) == load(name), name


@given(st.text(min_size=1), st.text(), st.floats(1e-300, 1e300), st.text(min_size=1, max_size=20))
def test_any_text_and_any_number(title, note, value, program):
    machine = host_machine(
        CpuDescription(cores=3, simd_bits=256, l1_bytes=1 << 15, l2_bytes=1 << 20, l3_bytes=0, clock_hz=2e9)
    )
    quantity = Quantity(value=value, unit="s", source="measured", note=note, low=0.0, high=value)
    changed = dataclasses.replace(machine, title=title, c_iter=((program, quantity),))
    assert parse(to_toml(changed), "text") == changed
