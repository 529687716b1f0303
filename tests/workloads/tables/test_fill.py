"""Filling tables: known answers, results, inputs and errors."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ArrayError, UsageError
from tilewright.inputs import memo
from tilewright.runtime.store.hosts import host
from tilewright.workloads.tables.catalogue import recurrence_named
from tilewright.workloads.tables.fill import filling
from tilewright.workloads.tables.schedule import table_default
from tilewright.workloads.tables.scoring import matrix_scoring


def _levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@pytest.mark.parametrize("backend", ["auto", "numpy"])
@pytest.mark.parametrize(("a", "b"), [("kitten", "sitting"), ("a", "b"), ("flaw", "lawn"), ("x" * 70, "xy" * 40)])
def test_edit_distances(a, b, backend):
    assert tw.fill("edit_distance", a, b, result="last", backend=backend) == _levenshtein(a, b)


def test_a_longest_common_subsequence():
    assert tw.fill("lcs", "AGGTAB", "GXTXAYB", result="last") == 4
    table = tw.fill("lcs", "AGGTAB", "GXTXAYB")
    assert table.shape == (6, 7)
    assert table.dtype == np.int32


def test_the_recurrence_and_the_aligner_agree():
    rng = np.random.default_rng(4)
    letters = "ARNDCQEGHILKMFPSTWYV"
    a, b = ("".join(letters[i] for i in rng.integers(0, 20, size)) for size in (150, 190))
    scoring = matrix_scoring("BLOSUM62", 11, 1)
    inputs = (scoring.encode(a), scoring.encode(b), scoring.array())
    best = tw.fill("smith_waterman", *inputs, gap_open=11, gap_extend=1, result="sum")
    assert best == tw.align(a, b, matrix="BLOSUM62", gap_open=11, gap_extend=1).score


def test_global_alignments_score_like_biopython():
    from Bio import Align
    from Bio.Align import substitution_matrices

    scoring = matrix_scoring("BLOSUM62", 11, 1)
    theirs = Align.PairwiseAligner(
        mode="global",
        substitution_matrix=substitution_matrices.load("BLOSUM62"),
        open_gap_score=-11,
        extend_gap_score=-1,
    )
    for a, b in (("MVLSPADKTNVK", "MVHLTPEEKSAVTAL"), ("W", "AAAAAA"), ("GATTACA" * 5, "GCATGC" * 3)):
        inputs = (scoring.encode(a), scoring.encode(b), scoring.array())
        found = tw.fill("needleman_wunsch", *inputs, gap_open=11, gap_extend=1, result="last")
        assert found == theirs.score(a, b)


def test_paths_through_a_grid():
    free = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    expected = [[True, True, False], [False, True, True], [False, False, True]]
    assert tw.fill("monotone_paths", free, dtype="bool").tolist() == expected


def test_the_default_tile_is_the_models_for_this_cpu_and_the_threads_of_the_run():
    known = recurrence_named("lcs")
    for threads in (1, 2):
        found = filling("lcs", ("ab" * 200, "ba" * 300), {}, threads=threads)
        assert found.tiling == table_default(known, (400, 600), "int32", host(), threads)
        assert np.array_equal(found.values, tw.fill("lcs", "ab" * 200, "ba" * 300, backend="numpy"))
    narrow = filling("lcs", ("ab" * 200, "ba" * 300), {}, dtype="int16", threads=1).tiling
    assert narrow == table_default(known, (400, 600), "int16", host(), 1)


def test_the_machine_is_asked_for_again_once_something_was_calibrated(monkeypatch):
    asked = []
    monkeypatch.setattr(memo.hosts, "host", lambda: asked.append(1) or host())
    monkeypatch.setattr(memo, "_LOOK_SECONDS", 3600.0)
    for _ in range(3):
        assert memo.host() == host()
    assert len(asked) == 1
    memo.forget()
    memo.host()
    monkeypatch.setenv("TILEWRIGHT_STORE", "/nowhere/else")
    memo.host()
    assert len(asked) == 3


def test_results():
    one = filling("lcs", ("ab", "ba"), {})
    assert (one.backend, one.threads, one.tiling.family) == ("c", 1, "orthogonal")
    tables = tw.fill("smith_waterman", [0, 1], [1, 1], [[2, -1], [-1, 2]], gap_open=2, gap_extend=1)
    assert len(tables) == 3
    assert tables[0].tolist() == [[0, 0], [2, 2]]


def test_a_table_without_inputs():
    @tw.recurrence(outside=lambda i, j: tw.where((i == -1) & (j == 0), 1, 0))
    def paths(n):
        return n[-1, 0] + n[0, -1]

    assert tw.fill(paths, shape=(5, 5), result="last") == 70  # 8 over 4


def test_errors():
    for call, message in [
        (lambda: tw.fill("lsc", "a", "b"), "did you mean lcs"),
        (lambda: tw.fill("lcs", "a"), r"has 2 inputs \(a, b\), got 1"),
        (lambda: tw.fill("lcs", "a", ""), "at least one row and one column"),
        (lambda: tw.fill("lcs", "a", "b", gap=1), "has no scalar 'gap'"),
        (lambda: tw.fill("lcs", "a", "b", dtype="int8"), "the dtype of a table is one of"),
        (lambda: tw.fill("lcs", "a", "b", result="best"), "table, last, sum"),
        (lambda: tw.fill("lcs", "a", "b", backend="gpu"), "auto, c, numpy"),
        (lambda: tw.fill("lcs", "a", "b", tiling="hybrid:t=4,s=8x8"), "cut into orthogonal tiles"),
        (lambda: tw.fill("lcs", [1.5], [2.5]), "int32 tables cannot use"),
        (lambda: tw.fill("lcs", [[1]], [2]), "has one dimension, got 2"),
        (lambda: tw.fill("lcs", [2**40], [2]), "beyond 32 bits"),
        (lambda: tw.fill("lcs", [None], [2]), "numbers or is a text"),
        (lambda: tw.fill("smith_waterman", [0], [0], [[1]]), "needs a value for 'gap_open'"),
        (
            lambda: tw.fill("smith_waterman", [0, 3], [0], [[1]], gap_open=1, gap_extend=1),
            "holds values from 0 to 3, the matrix 'score' has 1 rows",
        ),
        (lambda: tw.fill("smith_waterman", [0], [0], [[0.5]], gap_open=1, gap_extend=1), "does not fit int32"),
        (lambda: tw.fill(len, "a", "b"), "a recurrence was expected"),
    ]:
        with pytest.raises((UsageError, ArrayError), match=message):
            call()


def test_a_table_is_filled_once():
    with pytest.raises(UsageError, match="filled once"):
        tw.predict("lcs", shape=(10, 10), steps=2, machine="k20c")
    with pytest.raises(UsageError, match="the model exact only"):
        tw.predict("lcs", shape=(10, 10), machine="k20c", model="published")


def test_predictions_and_selections_of_tables():
    one = tw.predict("smith_waterman", shape=(4096, 8192), machine="k20c", tiling="orthogonal:t=64,s=256,sub=8")
    assert one.to_dict()["tiling"]["sub"] == [8]
    assert one.costs.wavefronts == 64 + 32 - 1
    near = tw.select("smith_waterman", shape=(4096, 8192), machine="k20c", within=0.05)
    assert near[0].costs.seconds <= one.costs.seconds
    assert all(each.costs.seconds <= 1.05 * near[0].costs.seconds for each in near)
    least = tw.select("smith_waterman", shape=(4096, 8192), machine="k20c", metric="energy", top=1, within=None)
    assert least[0].costs.joules <= near[0].costs.joules


def test_a_table_is_explained():
    from tilewright.verbs.bottleneck import explain
    from tilewright.verbs.predict import predict

    one = predict("lcs", shape=(4096, 4096), machine="k20c", tiling="orthogonal:t=64,s=256,sub=8")
    found = explain(one)
    uses = {each.name: each.use for each in found.resources}
    # 64 rows and 16 columns of tiles: 16 tiles at most on 13 SMs, in 79 wavefronts of which 55 take two turns.
    turns = sum(-(-min(d + 1, 64, 16, 79 - d) // 13) for d in range(79))
    assert uses["multiprocessors"] == pytest.approx(64 * 16 / (turns * 13))
    assert uses["lanes of a tile's pipeline"] == pytest.approx(64 / (64 + 31))
    assert uses["vector units"] == pytest.approx(found.ideal_seconds / one.costs.seconds)
    assert 0 < found.ideal_seconds < one.costs.seconds
    assert all(factor >= 0.999 for _, factor in found.speedups)
    assert found.k_effect[0][0] == 1
    assert dict(found.k_effect)[one.costs.tiles_per_sm] == one.costs.seconds
    host = explain(predict("lcs", shape=(512, 512), machine="host"))
    assert host.k_effect == ()
    assert host.overhead > 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("plus", ["maximum", "minimum"])
def test_a_total_with_a_number_that_is_none_is_none(plus, dtype):
    from tilewright.programs.stencil.expression import apply
    from tilewright.programs.stencil.program import FieldBuilder
    from tilewright.workloads.tables.problem import recurrence

    h, c = FieldBuilder("h"), FieldBuilder("c")
    best = apply(plus, h[-1, -1] + c[0, 0], h[-1, 0] + 1.0)
    semiring = {"maximum": "max_plus", "minimum": "min_plus"}[plus]
    walk = recurrence("walk", {"h": best}, inputs={"c": "cell"}, outside={"h": 0}, semiring=semiring)
    cells = np.random.default_rng(1).uniform(-1, 1, (9, 11)).astype(dtype)
    cells[4, 5] = np.nan
    for backend in ("c", "numpy"):
        assert np.isnan(filling(walk, (cells,), {}, dtype=dtype, result="sum", backend=backend).values)
