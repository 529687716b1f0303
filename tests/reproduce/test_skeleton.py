"""Skeletons are the listings of the fusion paper."""

import sys

import pytest

import skeleton as script
from skeleton import skeleton
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.catalogue import pipeline
from tilewright.workloads.pipelines.problem import make_pipeline_problem


def actions(name, fusion="full", dtype="float32", *, shared=True, **options):
    program = pipeline(name, **options)
    problem = make_pipeline_problem(program, (64, 64), dtype)
    return [str(a) for a in skeleton(problem, fusions.parse(program, fusion), shared=shared).actions]


def test_listing_1_blending():
    assert actions("blend", dtype="uint8") == [
        "DTransfer:HostToDevice(IM, 1);",
        "DTransfer:HostToDevice(IM, 1);",
        "DAccess:Load(GlobalMem, TL, 1);",
        "DAccess:Load(GlobalMem, TL, 1);",
        "Op:I(TL);",
        "DAccess:Store(GlobalMem, TL, 1);",
        "DTransfer:DeviceToHost(IM, 1);",
    ]


def test_listing_2_convolution_without_shared_memory():
    # The listing prints Op:I for a filter that (21) says is single precision.
    assert actions("convrows", shared=False) == [
        "DTransfer:HostToDevice(IM, 4);",
        "DAccess:Load(GlobalMem, W × TL, 4);",
        "Op:SP(W × TL);",
        "DAccess:Store(GlobalMem, TL, 4);",
        "DTransfer:DeviceToHost(IM, 4);",
    ]


def test_listing_3_convolution_with_shared_memory():
    assert actions("convrows", radius=7) == [
        "DTransfer:HostToDevice(IM, 4);",
        "DAccess:Load(GlobalMem, TL1', 4);",
        "DAccess:Store(ShMem, TL1', 4);",
        "Sync:BarrierSync",
        "DAccess:Load(ShMem, W1 × TL, 4);",
        "Op:SP(W1 × TL);",
        "DAccess:Store(GlobalMem, TL, 4);",
        "DTransfer:DeviceToHost(IM, 4);",
    ]
    program = pipeline("convrows", radius=7)
    text = str(skeleton(make_pipeline_problem(program, (9, 9)), fusions.full(program)))
    assert "TL1' = TLy × (TLx + 2×7);" in text  # (23)
    assert "W1 = 15;" in text


def test_listing_4_fused_blur():
    assert actions("blur", radius=3) == [
        "DTransfer:HostToDevice(IM, 4);",
        "DAccess:Load(GlobalMem, TL1', 4);",
        "DAccess:Store(ShMem, TL1', 4);",
        "Sync:BarrierSync",
        "DAccess:Load(ShMem, W1 × TL2', 4);",
        "Op:SP(W1 × TL2');",
        "DAccess:Store(ShMem, TL2', 4);",
        "Sync:BarrierSync",
        "DAccess:Load(ShMem, W2 × TL, 4);",
        "Op:SP(W2 × TL);",
        "DAccess:Store(GlobalMem, TL, 4);",
        "DTransfer:DeviceToHost(IM, 4);",
    ]


@pytest.mark.parametrize("name", ["canny", "harris"])
def test_every_fusion_has_a_skeleton_that_moves_what_the_groups_exchange(name):
    program = pipeline(name)
    problem = make_pipeline_problem(program, (64, 64))
    every = fusions.fusions(program)[::23] if name == "canny" else (fusions.full(program), fusions.unfused(program))
    for fusion in every:
        found = skeleton(problem, fusion).actions
        loads = sum(a.what == "Load" and a.memory == "GlobalMem" for a in found)
        stores = sum(a.what == "Store" and a.memory == "GlobalMem" for a in found)
        plans = [fusions.plan_group(program, group) for group in fusion]
        assert loads == sum(len(plan.inputs) for plan in plans)
        assert stores == sum(len(plan.outputs) for plan in plans)


def test_the_script_prints_one(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["skeleton.py", "blend", "--fusion", "full", "--dtype", "uint8"])
    script.main()
    printed = capsys.readouterr().out
    assert "Op:I(TL);" in printed
    assert printed.count("DTransfer:HostToDevice(IM, 1);") == 2
