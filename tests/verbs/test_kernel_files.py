"""Kernels of predictions in files."""

from dataclasses import replace

import pytest

import tilewright as tw
from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.schedules.tiling import parse
from tilewright.verbs.kernel_files import export

SIZE = {"shape": (512, 512), "steps": 32}


@pytest.mark.parametrize(
    ("machine", "ending", "options"),
    [
        ("gtx980", "cu", {}),
        ("gtx980", "cl", {}),
        ("zen3", "c", {}),
        ("c1060", "cl", {}),
        ("v100", "cu", {"boundary": "wrap"}),
        ("zen3", "c", {"dtype": "float64", "boundary": "reflect"}),
    ],
)
def test_a_tiling_has_the_text_that_tuning_exports(machine, ending, options, tmp_path):
    plan = tw.tune("j2d5pt", **SIZE, machine=machine, effort="none", **options)
    theirs = plan.export(tmp_path / f"k.{ending}")
    texts = [path.read_text() for path in theirs]
    cost = tw.predict("j2d5pt", **SIZE, machine=machine, tiling=plan.tiling, **options)
    assert cost.export(tmp_path / f"k.{ending}") == theirs
    assert [path.read_text() for path in theirs] == texts


@pytest.mark.parametrize(("machine", "ending"), [("h200", "cu"), ("c1060", "cu"), ("zen3", "c")])
def test_a_folder_gets_one_file_in_the_language_of_the_machine(machine, ending, tmp_path):
    cost = tw.predict("j2d5pt", **SIZE, machine=machine)
    (path,) = cost.export(tmp_path / "new" / "tiles")
    name = str(cost.tiling).translate(str.maketrans(":,", "--", "="))
    assert path == tmp_path / "new" / "tiles" / f"j2d5pt-{name}.{ending}"
    assert path.read_text().startswith(f"/* j2d5pt, float32, tiling {cost.tiling}\n")


def test_tilings_without_code_are_left_out_and_the_rest_is_written(tmp_path):
    cost = tw.predict("j2d5pt", **SIZE, machine="zen3", tiling="hybrid:t=4,s=8x64")
    device = parse("streaming:t=4,s=64x56,threads=1x64")
    both = [cost.kernel, replace(cost.kernel, tiling=device)]
    done = export(both, tmp_path, "c")
    assert done.tilings == (cost.tiling,)
    assert [path.name for path in tmp_path.iterdir()] == [path.name for path in done.files]
    ((tiling, reason),) = done.left_out
    assert tiling == device
    assert "GPU" in reason
    assert done.to_dict()["left_out"] == [{"tile": str(device), "reason": reason}]
    with pytest.raises(IllegalTilingError):
        export(both[1:], tmp_path / "other", "c")
    with pytest.raises(IllegalTilingError):
        export([both[1], both[1]], tmp_path / "other", "c")
    assert not (tmp_path / "other").exists()


def test_what_was_exported_is_replaced_and_nothing_else(tmp_path):
    cost = tw.predict("j2d5pt", **SIZE, machine="gtx980")
    kernel, host = cost.export(tmp_path / "k.cl")
    before = kernel.read_text(), host.read_text()
    cost.export(tmp_path / "k.cl")
    assert (kernel.read_text(), host.read_text()) == before
    for path in (kernel, host):
        path.write_text("int main(void) { return 0; }\n")
        with pytest.raises(UsageError, match=f"{path.name}' is there and was not exported by tilewright"):
            cost.export(tmp_path / "k.cl")
        assert path.read_text() == "int main(void) { return 0; }\n"
        path.unlink()
        cost.export(tmp_path / "k.cl")
    (tmp_path / "k_main.c").unlink()
    (tmp_path / "k_main.c").mkdir()
    with pytest.raises(UsageError, match="is there"):
        cost.export(tmp_path / "k.cl")


def test_a_file_of_bytes_is_somebody_elses(tmp_path):
    (tmp_path / "k.c").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(UsageError, match="was not exported"):
        tw.predict("j2d5pt", **SIZE, machine="zen3").export(tmp_path / "k.c")
