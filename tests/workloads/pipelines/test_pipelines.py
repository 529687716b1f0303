"""tw.pipeline, tw.fuse and tw.image."""

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

import tilewright as tw
from tilewright.base.errors import ArrayError, TilewrightWarning, ToolchainError, UsageError
from tilewright.costs.arrays import BlockShapes
from tilewright.machines.files import load
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.warn import forget_warnings
from tilewright.workloads.pipelines.gpu_costs import card, evaluate
from tilewright.workloads.pipelines.lower.device import emit_gpu_group
from tilewright.workloads.pipelines.problem import make_pipeline_problem
from tilewright.workloads.pipelines.search import BASIC, Blocks

MODES = ("reflect", "nearest", "mirror", "wrap", "constant:0.3")


@pytest.mark.parametrize("border", MODES)
def test_blur_is_scipys(border):
    mode, _, value = border.partition(":")
    image = np.random.default_rng(0).random((61, 83))
    for sigma, shape in ((0.6, (61, 83)), (2.0, (61, 83)), (3.0, (7, 83))):
        part = image[: shape[0]]
        expected = ndimage.gaussian_filter(part, sigma, mode=mode, cval=float(value or 0))
        for dtype in (np.float32, np.float64):
            assert np.abs(tw.image.blur(part.astype(dtype), sigma, boundary=border) - expected).max() < 1e-5
        np.testing.assert_allclose(tw.image.blur(part, sigma, boundary=border), expected, atol=1e-13)


def test_sobel_is_scikit_images():
    from skimage import filters

    image = np.random.default_rng(0).random((40, 50))
    np.testing.assert_allclose(tw.image.sobel(image), filters.sobel(image), atol=1e-12)


@pytest.mark.parametrize("name", ["camera.png", "coins.png", "chessboard_GRAY.png", "coffee.png"])
def test_canny_is_scikit_images(name):
    import skimage
    from skimage import color, feature, io, util

    image = util.img_as_float(io.imread(f"{skimage.__path__[0]}/data/{name}"))
    image = (color.rgb2gray(image[..., :3]) if image.ndim == 3 else image)[:256, :300]
    for sigma, low, high, mode in ((1.4, 0.1, 0.2, None), (2.0, 0.05, 0.1, "reflect")):
        options = {} if mode is None else {"mode": mode}
        expected = feature.canny(image, sigma, low_threshold=low, high_threshold=high, **options)
        found = tw.image.canny(image, sigma, low, high, boundary=mode)
        assert set(np.unique(found)) <= {0, 255}
        both = np.count_nonzero(expected & (found > 0))
        assert 2 * both >= 0.99 * (np.count_nonzero(expected) + np.count_nonzero(found))


def test_hysteresis_without_a_compiler_finds_the_same(monkeypatch):
    from tilewright.workloads.pipelines import image as module

    values = ndimage.gaussian_filter(np.random.default_rng(3).random((61, 71)), 1.0)
    low, high = np.quantile(values, [0.6, 0.97])
    classes = (values >= low).astype(np.uint8) + (values >= high)
    quick = module.hysteresis(classes)
    inner = np.zeros_like(classes)
    inner[1:-1, 1:-1] = classes[1:-1, 1:-1]
    np.testing.assert_array_equal(quick, module._with_numpy(inner))
    assert 0 < np.count_nonzero(quick) < np.count_nonzero(classes)

    def failing(*_):
        raise ToolchainError("there is no C compiler on this machine")

    monkeypatch.setattr(module, "compiled", failing)
    forget_warnings()
    with pytest.warns(TilewrightWarning, match="running with NumPy, which is many times slower: there is no C comp"):
        np.testing.assert_array_equal(module.hysteresis(classes), quick)
    forget_warnings()


def test_the_outermost_cells_are_no_edges():
    from tilewright.workloads.pipelines.image import hysteresis

    for shape in ((1, 1), (1, 9), (9, 1), (2, 2), (3, 3), (4, 5), (5, 17)):
        expected = np.zeros(shape, np.uint8)
        expected[1:-1, 1:-1] = 255
        np.testing.assert_array_equal(hysteresis(np.full(shape, 2, np.uint8)), expected)
        assert not hysteresis(np.ones(shape, np.uint8)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_value_equal_to_a_threshold_reaches_it(dtype):
    image = np.zeros((9, 24), dtype)
    image[:, 6:], image[:, 16:] = 0.25, 0.75  # a blur of one cell: gradients of 4 times the differences
    options = {"sigma": 0.1, "boundary": "nearest"}
    above = float(np.nextafter(dtype(2.0), dtype(3.0)))
    assert set(np.nonzero(tw.image.canny(image, low=2.0, high=2.0, **options))[1]) == {15, 16}
    assert not tw.image.canny(image, low=above, high=above, **options).any()
    assert set(np.nonzero(tw.image.canny(image, low=1.0, high=1.0, **options))[1]) == {5, 6, 15, 16}
    assert set(np.nonzero(tw.image.canny(image, low=1.0, high=2.0, **options))[1]) == {15, 16}


def test_memory_of_threads_and_stacks_is_refused_before_it_is_taken(monkeypatch):
    from tilewright.runtime import memory
    from tilewright.workloads.pipelines.image import hysteresis

    image = np.random.default_rng(0).random((8, 8)).astype(np.float32)
    blur = tw.pipeline("blur", radius=1)
    blur(image)
    monkeypatch.setattr(memory, "_SURE", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda: 400)  # a grid has 256
    with pytest.raises(ArrayError, match=r"this run needs .* of memory but 400 B are available"):
        blur(image)
    with pytest.raises(ArrayError, match="of memory but 400 B are available"):
        hysteresis(np.ones((8, 8), np.uint8))


def test_in_place_through_out():
    image = np.random.default_rng(0).random((40, 41)).astype(np.float32)
    expected = tw.pipeline("blur", radius=3)(image)
    tw.pipeline("blur", radius=3)(image, out=image)
    np.testing.assert_array_equal(image, expected)


def test_iterations_apply_the_pipeline_again():
    image = np.random.default_rng(0).random((30, 40))
    blur = tw.pipeline("blur", radius=1)
    np.testing.assert_array_equal(blur(image, iterations=3), blur(blur(blur(image))))
    with pytest.raises(UsageError, match="cannot be iterated"):
        tw.pipeline(lambda u: u.astype("float32"), name="turn")(image, iterations=2)


def test_mistakes_are_one_sentence():
    image = np.zeros((8, 8), np.float32)
    blur = tw.pipeline("blur")
    for call, message in (
        (lambda: tw.pipeline("blurr"), "did you mean blur"),
        (lambda: tw.pipeline("blur", sigmas=1), "takes no option 'sigmas'"),
        (lambda: tw.pipeline("blur", sigma=-1.0), "sigma is a positive number"),
        (lambda: tw.pipeline("blur", sigma=100.0), "0 to 64"),
        (lambda: blur(image, image), "takes 1 array"),
        (lambda: blur(image, amount=2), "has no scalar 'amount'"),
        (lambda: blur(image, boundary="fixed"), "the boundary of a grid"),
        (lambda: blur(image, fusion="S3"), "every stencil"),
        (lambda: blur(image, backend="cuda"), "backend"),
        (lambda: blur(image, iterations=0), "iterations"),
        (lambda: tw.pipeline(3), "a pipeline is a function"),
        (lambda: tw.image.canny(image, low=0.5, high=0.1), "low <= high"),
    ):
        with pytest.raises(UsageError, match=message):
            call()
    for call, message in (
        (lambda: blur(np.zeros((2, 2, 2), np.float32)), "2 dimensions"),
        (lambda: blur(np.zeros((0, 3), np.float32)), "at least 1 cell"),
        (lambda: blur(np.zeros((3, 3), np.uint32)), "uint32"),
        (lambda: blur(image, out=np.zeros((2, 2), np.float32)), "out="),
        (lambda: tw.image.blur(np.zeros((3, 3), np.int32)), "image / 255"),
        (lambda: tw.image.sobel(np.zeros((3, 3, 2), np.uint8)), "3 or 4 channels last"),
    ):
        with pytest.raises(ArrayError, match=message):
            call()


def test_nan_and_infinity_stay_where_they_reach():
    image = np.zeros((40, 60), np.float32)
    image[20, 30] = np.nan
    result = tw.pipeline("blur", radius=2)(image)
    assert np.isnan(result[18:23, 28:33]).all()
    assert np.count_nonzero(np.isnan(result)) == 25


def test_fuse_ranks_every_fusion_of_canny():
    plan = tw.fuse("canny", shape=(4096, 4096), machine="gtx780", top=400)
    document = plan.to_dict()
    assert document["full_fusion_halos"]["G1"] == [7, 7]
    assert len(document["candidates"]) == 304 - _impossible(plan)
    seconds = [c["seconds"] for c in document["candidates"]]
    assert seconds == sorted(seconds)
    assert all(sum(g["seconds"] for g in c["groups"]) == pytest.approx(c["seconds"]) for c in document["candidates"])
    assert plan.explored.configurations > plan.explored.feasible > plan.explored.relevant > 0


def _impossible(plan):
    """Fusions with a group that fits no block."""
    from tilewright.workloads.pipelines import fusions

    shown = {candidate.fusion for candidate in plan.candidates}
    missing = [f for f in fusions.fusions(plan.problem.pipeline) if f not in shown]
    for fusion in missing:
        with pytest.raises(UsageError):
            tw.fuse("canny", shape=(4096, 4096), machine="gtx780", fusion=fusions.text(fusion))
    return len(missing)


def test_the_published_model_is_kept_by_name():
    exact = tw.fuse("blur", shape=(4096, 4096), machine="gtx590", fusion="full", radius=7)
    printed = tw.fuse("blur", shape=(4096, 4096), machine="gtx590", fusion="full", radius=7, model="published")
    assert printed.best.seconds != exact.best.seconds
    with pytest.raises(UsageError, match="model"):
        tw.fuse("blur", shape=(64, 64), machine="gtx590", model="best")


@pytest.mark.parametrize(
    ("name", "memory", "shared"), [("gtx590", 164e9, 1476e9), ("gtx780", 288e9, 2592e9), ("gtx750", 224e9, 2016e9)]
)
def test_the_published_model_takes_the_bandwidths_of_table_8(name, memory, shared):
    machine = load(name)
    printed, exact = card(machine, "published"), card(machine)
    assert (printed.dram_bandwidth, printed.shared_bandwidth) == (memory, shared)
    assert exact.dram_bandwidth == machine.dram_bandwidth.value < memory
    assert exact.shared_bandwidth == machine.shared_bandwidth.value
    plan = tw.fuse("blur", shape=(4096, 4096), machine=name, fusion="full", model="published")
    assert f"bandwidth: {memory / 1e9:.0f} GB/s (paper); values of {name}: " in str(plan)


def test_the_accesses_of_equation_34_by_hand():
    """Blocks of (16, 16, 1, 1) of a row filter of radius 3 on the GTX 780, 288 GB/s.

    A tile of 16 x 16 is padded to 16 x 32. A warp is two rows of 64 B: 3 transactions each where the halo begins 12 B
    before one, 2 each for what is stored. 8 blocks are resident, 64 warps of the 44 that hide a latency.
    """
    problem = make_pipeline_problem(tw.pipeline("blur", radius=3).program, (4096, 4096))
    choice = Blocks(problem=problem, machine=load("gtx780"), model="published").basic((0,))
    assert (choice.shared_bytes, choice.resident, choice.rounds, choice.remaining) == (2048, 8, 682, 64)
    blocks = BlockShapes(**{key: np.array([v]) for key, v in zip(("ty", "tx", "ny", "nx"), BASIC, strict=True)})
    costs = evaluate(problem, (0,), blocks, card(load("gtx780"), "published"), "published")
    moved = 6 * (512 / 32) * 4 + 4 * (256 / 32) * 4
    assert costs.terms["transfers"][0] == pytest.approx((682 * 8 + 64) * moved / (288e9 / 12))


@pytest.mark.parametrize("machine", ["gtx590", "gtx780", "v100", "zen3"])
@pytest.mark.parametrize("exhaustive", [False, True])
def test_every_configuration_is_listed_best_first(machine, exhaustive):
    """As many as the search looked at, the chosen one first; of the GPUs what algorithm 2 computes of each."""
    plan = tw.fuse("sobel", shape=(512, 512), machine=machine, top=1, exhaustive=exhaustive)
    lists = plan.configurations()
    assert [each.choices[0] for each in lists] == list(plan.best.choices)
    found = load(machine)
    for each, basic, row in zip(lists, plan.basic(plan.best), plan.to_dict()["candidates"][0]["groups"], strict=True):
        seconds = [choice.seconds for choice in each.choices]
        assert seconds == sorted(seconds)
        assert len({getattr(choice, "block", getattr(choice, "tile", None)) for choice in each.choices}) == len(seconds)
        document = each.to_dict()
        assert len(document["configurations"]) == len(seconds)
        assert document["halos"] == row["halos"]
        if machine == "zen3":
            assert basic is row["basic"] is document["basic"] is None
            continue
        assert row["basic"]["seconds"] == document["basic"]["seconds"] == basic.seconds
        assert not exhaustive or basic.seconds >= seconds[0]
        for choice in (*each.choices, basic):
            assert choice.threads <= found.max_block_threads.value
            assert choice.resident * choice.threads <= found.max_threads.value
            assert choice.resident * choice.shared_bytes <= found.shared_bytes.value
            assert choice.occupancy == choice.resident * choice.threads / found.max_threads.value
            assert exhaustive or choice is basic or 128 <= choice.threads <= 512
    one = tw.fuse("convrows", shape=(512, 512), machine=machine, exhaustive=exhaustive)
    assert [len(each.choices) for each in one.configurations()] == [one.explored.relevant]


def test_the_best_configurations_are_compiled_for_their_registers():
    if not nvrtc.available():
        pytest.skip("needs pip install 'tilewright[cuda]'")
    (known,) = tw.fuse("blur", shape=(512, 512), machine="v100", fusion="full").configurations()
    problem = make_pipeline_problem(tw.pipeline("blur").program, (512, 512))
    texts = {
        choice.block: emit_gpu_group(problem, (0, 1), "cuda", choice.block).text
        for choice in (*known.choices[:10], known.basic)
    }
    needs = {block: nvrtc.compile_cuda(text, "sm_70", strict=True).resources for block, text in texts.items()}
    registers = {each.block: each.registers for each in (*known.choices, known.basic) if each.registers is not None}
    assert registers == {block: each.registers for block, each in needs.items()}
    rows = {(row["T_y"], row["T_x"], row["N_y"], row["N_x"]): row for row in known.to_dict()["configurations"]}
    for block, count in registers.items():
        if block in rows:
            assert (rows[block]["registers"], rows[block]["register_blocks"]) == (
                count,
                65536 // (count * block[0] * block[1]),
            )
    assert sum(row["registers"] is not None for row in rows.values()) in {10, 11}
    assert not known.unknown
    (old,) = tw.fuse("blur", shape=(512, 512), machine="gtx780", fusion="full").configurations()
    assert all(each.registers is None for each in (*old.choices, old.basic))
    assert "the machine is sm_35" in old.unknown


def test_a_plan_for_this_cpu_prefers_fused_canny():
    plan = tw.fuse("canny", shape=(4096, 4096), machine="host", sigma=1.0)
    assert plan.to_dict()["candidates"][0]["fusion"] == "(S1, S2, S3, S4, S5, S6, S7, S8)"


@pytest.fixture
def photo():
    y, x = np.mgrid[:40, :50]
    return np.stack([5 * x, 6 * y, 255 * ((x - 25) ** 2 + (y - 20) ** 2 < 100)], axis=-1).astype(np.uint8)


def test_pictures_of_bytes_and_colour_are_taken_as_the_command_takes_them(photo, tmp_path):
    from tilewright.workloads.pipelines.image import process

    Image.fromarray(photo).save(tmp_path / "in.png")
    for operation, options, expected in (
        ("blur", {"sigma": 1.5}, tw.image.blur(photo, 1.5)),
        ("sobel", {}, np.rint(255 * np.clip(tw.image.sobel(photo), 0, 1)).astype(np.uint8)),
        ("canny", {"sigma": 1.5}, tw.image.canny(photo, 1.5)),
    ):
        process(operation, tmp_path / "in.png", tmp_path / "out.png", **options)
        np.testing.assert_array_equal(expected, np.asarray(Image.open(tmp_path / "out.png")))
    assert tw.image.blur(photo).shape == photo.shape
    assert np.count_nonzero(tw.image.canny(photo, 1.5)) >= 50
    deep = tw.image.blur(257 * photo[..., 0].astype(np.uint16), 2.0)
    np.testing.assert_allclose(deep / 65535, tw.image.blur(photo[..., 0] / np.float32(255), 2.0), atol=1e-5)


def test_this_machine_is_the_default_of_every_model():
    size = {"shape": (256, 256), "steps": 8}
    assert tw.predict("heat2d", **size).machine == "host"
    assert tw.select("heat2d", top=1, **size)[0].machine == "host"
    assert tw.fuse("blur", shape=(64, 64)).machine == "host"
    assert tw.supertune("heat2d", **size).winner.tiling is not None
    one = tw.choose_tiling("heat2d", **size)
    assert one == tw.choose_tiling(tw.predict("heat2d", **size).problem)
    with pytest.raises(UsageError, match="none is given"):
        tw.choose_tiling("heat2d")
    with pytest.raises(UsageError, match="tiles of one family"):
        tw.choose_tiling("edit_distance", shape=(64, 64))
