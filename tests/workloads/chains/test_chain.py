import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.chains import every_fusion, every_tree

import tilewright as tw
from tilewright.base.errors import ArrayError, TilewrightWarning, ToolchainError, UsageError
from tilewright.runtime.warn import forget_warnings
from tilewright.workloads.chains import run as chain_run
from tilewright.workloads.chains.problem import Product, make_chain, nodes, text, unfused
from tilewright.workloads.chains.search import words_of
from tilewright.workloads.chains.times import HostTimes

EXAMPLE = (936, 1008, 552, 368, 1016, 616, 544)
FAST_FUSED = HostTimes(itemsize=8, single=(1e-6,) * 6, left=(0.0,) * 7, right=(1.0,) * 7, source="measured")
SLOW_FUSED = HostTimes(
    itemsize=8, single=(0.0, 1e-11, 0.0, 0.0, 0.0, 0.0), left=(1.0,) * 7, right=(1.0,) * 7, source="measured"
)


def matrices(sizes, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in itertools.pairwise(sizes)]


def test_the_published_example():
    plan = tw.chain.plan(EXAMPLE, memory=65536, model="published")
    assert plan.opcount == 1_092_977_664
    assert plan.unfused_words == 10_190_344
    assert plan.fused_words == 8_392_058
    assert round(100 * (1 - plan.fused_words / plan.unfused_words), 1) == 17.6
    assert text(plan.tree) == "((A1 [A2 A3]) ([A4 A5] A6))"
    document = plan.to_dict()
    assert [node["tile"] for node in document["nodes"]] == [[312, 210], [220, 297], [256, 256]]
    assert [node["fusion"] for node in document["nodes"]] == ["right", "left", "none"]
    assert [node["words"] // 10_000 for node in document["nodes"]] == [341, 300, 197]


def test_the_published_table_of_costs():
    """Figure D.11: h and F of T1 to T5 in multiples of 10^5, and what each is fused with."""
    plan = tw.chain.plan(EXAMPLE, memory=65536, model="published")
    kinds = ("none", "left", "right")
    rows = {
        each["product"]: [
            *(round(each["h_words"][kind] / 1e5) if kind in each["h_words"] else None for kind in kinds),
            *(round(each["F_words"][kind] / 1e5) if kind in each["F_words"] else None for kind in kinds),
            each["planned"],
        ]
        for each in plan.to_dict()["products"]
    }
    assert rows == {
        "(A2 A3)": [16, None, None, 16, None, None, "on chip"],
        "(A4 A5)": [18, None, None, 18, None, None, "on chip"],
        "(A1 (A2 A3))": [31, None, 31, 47, None, 31, "right"],
        "((A4 A5) A6)": [12, 28, None, 30, 28, None, "left"],
        "((A1 (A2 A3)) ((A4 A5) A6))": [20, 44, 40, 79, 88, 89, "none"],
    }
    whole = plan.products[-1].least
    assert int(whole) == plan.fused_words - 936 * 544 == 7_882_874


@pytest.mark.parametrize("model", ["exact", "published", "counts"])
@pytest.mark.parametrize("memory", [64, 900, 20_000])
def test_the_least_f_of_the_root_is_what_the_best_fusions_of_the_tree_move(model, memory):
    rng = np.random.default_rng(4)
    for count in (2, 3, 6, 9):
        sizes = rng.integers(1, 700, count + 1).tolist()
        plan = tw.chain.plan(sizes, memory=memory, model=model, objective="two-step")
        root, written = plan.products[-1], sizes[0] * sizes[-1]
        assert root.least + written == pytest.approx(plan.two_step.words)
        assert len(plan.products) == count - 1
        if count < 7:
            trees = [tree for tree in every_fusion(unfused(plan.tree)) if isinstance(tree, Product)]
            moved = [sum(words_of(sizes, list(nodes(tree)), model, memory)) for tree in trees]
            assert root.least + written == pytest.approx(min(moved))


def test_whole_tiles_are_counted_alike_of_what_is_fused_and_what_is_not():
    plan = tw.chain.plan(EXAMPLE, memory=65536)
    found = plan.to_dict()
    assert (found["counted_words"], found["unfused_counted_words"]) == (10_242_944, 10_986_240)
    assert found["unfused_best_counted_words"] == found["numpy_order"]["counted_words"] == 11_074_560
    assert round(100 * found["saving"], 1) == 8.5
    assert round(100 * found["counted_saving"], 1) == 6.8
    kept = "unfused, every product keeping its result: 10,190,344 words (10,986,240); planned 8.5% less (6.8%)"
    assert kept in plan.explain().splitlines()
    for other in (plan.numpy, plan.two_step, plan.joint):
        assert f"{int(other.words):,} words ({other.counted_words:,})" in plan.explain()
    whole = tw.chain.plan(EXAMPLE, memory=65536, model="counts")
    assert (whole.unfused_words, whole.unfused_best_words) == (
        whole.unfused_counted_words,
        whole.unfused_best.counted_words,
    )


def test_the_true_example():
    plan = tw.chain.plan(EXAMPLE, memory=65536)
    assert plan.model == "exact"
    assert plan.unfused_words == 10_190_344
    assert round(100 * (1 - plan.fused_words / plan.unfused_words), 1) == 8.5
    assert text(plan.tree) == "([A1 (A2 A3)] ([A4 A5] A6))"
    counted = tw.chain.plan(EXAMPLE, memory=65536, model="counts")
    assert (counted.unfused_words, counted.fused_words) == (10_986_240, 10_242_944)
    assert counted.fused_words == counted.counted_words == plan.counted_words


def test_the_average_savings_of_table_d1():
    """Sizes that are multiples of 8 in [320, 1024]: within the sampling error of 1,000 chains per length."""
    from tilewright.workloads.chains.search import ChainSearch, best_trees, by_operations_only, by_words, fuse_trees

    rng = np.random.default_rng(0)
    for count, memory, average in ((3, 65536, 6.58), (8, 65536, 9.57), (3, 98304, 10.30), (8, 98304, 13.21)):
        sizes = 8 * rng.integers(40, 129, (1000, count + 1))
        textbook = ChainSearch(model="published", memory=memory, price=by_operations_only, fuse=False)
        trees = best_trees(sizes, textbook)
        rows = sizes.tolist()
        fused = fuse_trees(rows, trees, ChainSearch(model="published", memory=memory, price=by_words))
        savings = [
            1
            - sum(words_of(row, list(nodes(f)), "published", memory))
            / sum(words_of(row, list(nodes(unfused(t))), "published", memory))
            for row, t, f in zip(rows, trees, fused, strict=True)
        ]
        error = np.std(savings) / np.sqrt(len(savings))
        assert abs(np.mean(savings) - average / 100) < 4 * np.sqrt(2) * error


@pytest.mark.parametrize("model", ["exact", "published", "counts"])
def test_a_plan_is_consistent(model):
    rng = np.random.default_rng(1)
    for count in (1, 2, 3, 7, 12):
        sizes = rng.integers(1, 900, count + 1).tolist()
        plan = tw.chain.plan(sizes, memory=3000, model=model, pareto=True)
        assert plan.opcount == plan.numpy.operations
        if model != "published":
            assert plan.fused_words <= plan.unfused_best_words <= plan.unfused_words
            assert plan.joint.words <= plan.two_step.words <= plan.numpy.words + 1e-6
        operations = [each.operations for each in plan.pareto]
        assert operations == sorted(set(operations))
        assert plan.pareto[0].operations == plan.opcount
        assert plan.pareto[-1].words == pytest.approx(plan.joint.words)
        assert plan.explain()


def test_energy_compares_two_steps_with_all_trees():
    plan = tw.chain.plan(EXAMPLE, memory=12_288, machine="k20c", objective="energy")
    assert plan.energy.joules == pytest.approx(plan.energy.static_joules + plan.energy.dynamic_joules)
    assert plan.joint.energy.joules == pytest.approx(plan.energy.joules)
    assert plan.energy.joules <= plan.two_step.energy.joules
    assert plan.to_dict()["energy"]["machine"] == "k20c"
    timed = tw.chain.plan(EXAMPLE, memory=12_288, machine="k20c", objective="time")
    assert timed.energy.seconds <= plan.energy.seconds


def test_weights_lead_from_one_end_to_the_other():
    sizes = (700, 40, 900, 60, 800, 50, 650)
    ends = [tw.chain.plan(sizes, memory=900, objective="weighted", weights=w) for w in ((1.0, 0.0), (0.0, 1.0))]
    assert ends[0].opcount == tw.chain.plan(sizes, memory=900).opcount
    assert ends[1].fused_words == tw.chain.plan(sizes, memory=900, objective="words").fused_words


def test_shapes_may_be_pairs():
    pairs = list(itertools.pairwise(EXAMPLE))
    assert tw.chain.plan(pairs, memory=65536) == tw.chain.plan(EXAMPLE, memory=65536)


@pytest.mark.parametrize(
    ("shapes", "options", "words"),
    [
        ([(2, 3), (4, 5)], {}, "must have 3 rows, got 4"),
        ([(2, 3), (3, 5, 6)], {}, "a sequence of pairs of whole numbers"),
        ((5, 6, 7), {"objective": "beauty"}, "objective of a chain"),
        ((5, 6, 7), {"objective": "energy"}, "needs a machine"),
        ((5, 6, 7), {"model": "roofline"}, "model of a chain"),
        ((5, 6, 7), {"memory": 0}, "on-chip memory"),
        ((5, 6, 7), {"objective": "weighted", "weights": (-1.0, 1.0)}, "weights"),
        ((5, 6, 7), {"machine": "k21"}, "k21"),
    ],
)
def test_bad_plans_are_refused(shapes, options, words):
    with pytest.raises(UsageError, match=words):
        tw.chain.plan(shapes, **{"memory": 100, **options})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_multi_dot_equals_numpy_for_every_tree_and_fusion(count, dtype):
    arrays = matrices([23, 31, 7, 40, 19, 28][: count + 1], dtype)
    exact = np.linalg.multi_dot([array.astype("float64") for array in arrays])
    bound = np.linalg.multi_dot([np.abs(array).astype("float64") for array in arrays])
    for tree in every_tree(0, count - 1):
        for fused in every_fusion(tree):
            result = tw.chain.multi_dot(arrays, plan=fused)
            assert result.dtype == dtype
            assert np.all(np.abs(result - exact) <= 8 * np.finfo(dtype).eps * 40 * count * bound), text(fused)


def test_multi_dot_follows_a_plan():
    sizes = (60, 50, 40, 70, 30)
    plan = tw.chain.plan(sizes, memory=256, objective="words", model="counts")
    assert any(node.fusion != "none" for node in plan.nodes)
    arrays = matrices(sizes)
    np.testing.assert_allclose(tw.chain.multi_dot(arrays, plan=plan), np.linalg.multi_dot(arrays), rtol=1e-10)


def test_the_time_model_decides_about_fusion():
    sizes = (4000, 32, 12, 32)
    fused = tw.chain.choose(sizes, times=FAST_FUSED)
    plain = tw.chain.choose(sizes, times=SLOW_FUSED)
    assert [node.fusion for node in nodes(fused)] == ["left"]
    assert [node.fusion for node in nodes(plain)] == ["none", "none"]
    arrays = matrices(sizes)
    for times in (FAST_FUSED, SLOW_FUSED):
        np.testing.assert_allclose(
            tw.chain.multi_dot(arrays, times=times), np.linalg.multi_dot(arrays), rtol=1e-10, atol=1e-10
        )


def test_an_intermediate_of_no_size_is_not_fused_however_fast_that_seems():
    fast_right = replace(FAST_FUSED, left=FAST_FUSED.right, right=FAST_FUSED.left)
    assert [node.fusion for node in nodes(tw.chain.choose((32, 12, 32, 300_000), times=fast_right))] == ["right"]
    small = nodes(tw.chain.choose((300_000, 32, 12, 12), times=fast_right))
    assert [node.fusion for node in small] == ["none", "none"]


def test_no_fusion_is_searched_where_none_can_pay(monkeypatch):
    rng = np.random.default_rng(6)
    found = []
    for _ in range(60):
        chain = make_chain(rng.integers(1, rng.choice([4, 12, 60]), 8).tolist())
        scale = (10.0 ** rng.uniform(-8, -5), *(10.0 ** rng.uniform(-11, -9) for _ in range(6)))
        times = replace(FAST_FUSED, single=(1e-7, *scale[1:6]), left=scale, right=scale[:1] + scale[:0:-1])
        quick = chain_run._fastest.__wrapped__(chain, "float64", times, fuse=True)
        found.append(chain_run._fusing_may_pay(chain.sizes, times))
        with monkeypatch.context() as patch:
            patch.setattr(chain_run, "_fusing_may_pay", lambda *_: True)
            assert chain_run._fastest.__wrapped__(chain, "float64", times, fuse=True) == quick
    assert 10 < sum(found) < 50
    monkeypatch.setattr(chain_run, "best_block", None)  # only pairs need one
    pair = (1e-5, *(1e-10,) * 6)
    dear = replace(FAST_FUSED, single=(1e-7, *(1e-11,) * 5), left=pair, right=pair)
    assert all(node.fusion == "none" for node in nodes(tw.chain.choose(rng.integers(2, 12, 161).tolist(), times=dear)))


def test_types_without_a_fused_kernel_are_multiplied_unfused():
    assert not any(
        node.fusion != "none" for node in nodes(tw.chain.choose((90, 9, 8, 9), dtype="int64", times=FAST_FUSED))
    )
    for dtype in ("int64", "complex128", "float16"):
        arrays = [np.ones((5, 4), dtype), np.ones((4, 3), dtype), np.ones((3, 2), dtype)]
        result = tw.chain.multi_dot(arrays, times=FAST_FUSED)
        assert result.dtype == dtype
        assert np.array_equal(result, np.full((5, 2), 12, dtype))
    mixed = [np.ones((5, 4), "float32"), np.ones((4, 3), "float64"), np.ones((3, 2), "float32")]
    assert tw.chain.multi_dot(mixed, times=FAST_FUSED).dtype == "float64"


def test_the_ends_may_have_one_dimension():
    a, b, c = matrices((1, 6, 5, 1))
    for first, last in itertools.product((a, a[0]), (c, c[:, 0])):
        result = tw.chain.multi_dot([first, b, last])
        expected = np.linalg.multi_dot([first, b, last])
        assert np.shape(result) == np.shape(expected)
        np.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("sizes", [(0, 3, 4, 2), (3, 0, 4, 2), (3, 4, 5, 0)])
def test_empty_matrices(sizes):
    arrays = matrices(sizes)
    assert np.array_equal(tw.chain.multi_dot(arrays), np.zeros((sizes[0], sizes[-1])))


def test_equal_products_are_computed_once(monkeypatch):
    products = []
    original = chain_run._Run._product
    monkeypatch.setattr(chain_run._Run, "_product", lambda self, node: products.append(node) or original(self, node))
    a = matrices((40, 40))[0]
    np.testing.assert_allclose(tw.chain.multi_dot([a] * 8, fuse=False), np.linalg.matrix_power(a, 8), rtol=1e-9)
    assert len(products) == 3
    products.clear()
    b, c = matrices((30, 20, 25), seed=5)
    # (B C) (C' B') (B C): the middle one is the transpose of the first.
    result = tw.chain.multi_dot([b, c, c.T, b.T, b, c], fuse=False)
    np.testing.assert_allclose(result, b @ c @ c.T @ b.T @ b @ c, rtol=1e-9)
    assert len(products) < 5


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ([np.ones((2, 3))], "at least two"),
        ([], "at least two"),
        ([np.ones((2, 3)), np.ones((2, 3))], "must have 3 rows, got 2"),
        ([np.ones((2, 3)), np.ones(3), np.ones((3, 2))], "2 dimensions, got 1"),
        ([np.ones((2, 2, 2)), np.ones((2, 3))], "2 dimensions, got 3"),
        ([[[1.0]], np.ones((1, 3))], "not an array"),
    ],
)
def test_what_is_no_chain_is_refused(arrays, words):
    with pytest.raises(ArrayError, match=words):
        tw.chain.multi_dot(arrays)


def test_a_plan_for_other_matrices_is_refused():
    with pytest.raises(ArrayError, match="the plan is for the sizes"):
        tw.chain.multi_dot(matrices((2, 3, 4)), plan=tw.chain.plan((2, 3, 5), memory=100))
    with pytest.raises(ArrayError, match="does not multiply 3"):
        tw.chain.multi_dot(matrices((2, 3, 4, 5)), plan=next(every_tree(0, 1)))


def test_without_a_compiler_pairs_are_multiplied_one_by_one(monkeypatch):
    def refuse(*_):
        raise ToolchainError("there is no C compiler on this machine")

    monkeypatch.setattr(chain_run, "fused_product", refuse)
    arrays = matrices((30, 20, 10, 25))
    forget_warnings()
    fused = [
        each for tree in every_tree(0, 2) for each in every_fusion(tree) if any(n.fusion != "none" for n in nodes(each))
    ]
    with pytest.warns(TilewrightWarning, match="with NumPy, in two steps in place of a fused one: there is no C comp"):
        tw.chain.multi_dot(arrays, plan=fused[0])
    for tree in every_tree(0, 2):
        for fused in every_fusion(tree):
            np.testing.assert_allclose(tw.chain.multi_dot(arrays, plan=fused), np.linalg.multi_dot(arrays), rtol=1e-10)


def test_pytorch_tensors():
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    arrays = matrices((50, 20, 8, 30))
    tensors = [torch.from_numpy(array) for array in arrays]
    for times in (FAST_FUSED, SLOW_FUSED):
        result = tw.chain.multi_dot(tensors, times=times)
        assert isinstance(result, torch.Tensor)
        np.testing.assert_allclose(result.numpy(), np.linalg.multi_dot(arrays), rtol=1e-10)
    tensors[0].requires_grad_()
    tw.chain.multi_dot(tensors, times=FAST_FUSED).sum().backward()
    assert tensors[0].grad.shape == (50, 20)


def test_calibration_is_kept_and_read_again(monkeypatch):
    from tilewright.workloads.chains import times as chain_times

    monkeypatch.setattr(
        chain_times, "_SINGLE", ((2, 3, 4), (9, 8, 7), (20, 30, 20), (40, 3, 40), (3, 40, 3), (64, 64, 64))
    )
    monkeypatch.setattr(
        chain_times,
        "_FUSED",
        ((2, 3, 4, 5), (30, 8, 4, 8), (20, 30, 20, 10), (40, 3, 40, 3), (9, 8, 7, 6), (5, 50, 5, 50), (7, 60, 7, 9)),
    )
    monkeypatch.setattr(chain_times, "_REPEATS", 1)
    monkeypatch.setattr(chain_times, "_ROUNDS", 2)
    assert chain_times.stored("float64", 1) is None
    times = tw.chain.calibrate("float64", threads=1)
    assert times.source == "measured"
    assert min(*times.single, *times.left, *times.right) >= 0
    assert chain_times.stored("float64", 1) == times
    assert chain_times.stored("float32", 1) is None
    with pytest.raises(UsageError, match="float32 or float64"):
        tw.chain.calibrate("int8")
