"""Local alignments against Biopython's aligner, and alignments against their own scores."""

import random
import re
from pathlib import Path

import numpy as np
import pytest
from Bio import Align
from Bio.Align import substitution_matrices
from tests.sampling import covering

import tilewright as tw
from tilewright.base.errors import ArrayError, ToolchainError, UsageError
from tilewright.runtime.store.hosts import host
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.runtime.warn import forget_warnings
from tilewright.workloads.tables import align as kernels
from tilewright.workloads.tables.align import choose_scoring, rescore
from tilewright.workloads.tables.alignment_costs import alignment_default
from tilewright.workloads.tables.files import read_fasta
from tilewright.workloads.tables.scoring import matrix_scoring

AMINO = "ARNDCQEGHILKMFPSTWYV"
DATA = Path(__file__).with_name("data")
REAL = [(("globins", 0), ("globins", 1)), (("globins", 0), ("globins", 2)), (("globins", 1), ("globins", 2))]
REAL += [(("others", i), ("others", i + 1)) for i in (0, 2, 4)]


def _compiler() -> bool:
    try:
        toolchain()
    except ToolchainError:
        return False
    return True


pytestmark = [
    pytest.mark.skipif(not _compiler(), reason="no C compiler"),
]


def _biopython(a, b, scoring, matrix=None):
    names = {"substitution_matrix": matrix} if matrix is not None else {}
    if matrix is None:
        names = {"match_score": scoring.matrix[0][0], "mismatch_score": scoring.matrix[0][1]}
    aligner = Align.PairwiseAligner(
        mode="local", open_gap_score=-scoring.gap_open, extend_gap_score=-scoring.gap_extend, **names
    )
    return int(aligner.score(a, b))


def _related(rng, a, letters):
    """A copy with letters changed, left out and repeated, and a foreign part put in."""
    copy = "".join(c if rng.random() < 0.8 else rng.choice(letters) * rng.randint(0, 4) for c in a) or letters[0]
    at = rng.randint(0, len(copy))
    return copy[:at] + "".join(rng.choice(letters) for _ in range(rng.choice((0, 3, 30, 90)))) + copy[at:]


def _pair(rng, letters, longest):
    a = "".join(rng.choice(letters) for _ in range(rng.randint(1, longest)))
    if rng.random() < 0.6:
        return a, _related(rng, a, letters)
    return a, "".join(rng.choice(letters) for _ in range(rng.randint(1, longest)))


def _whole(found, a, b, scoring):
    """Whether an alignment is what it says: its letters, its steps and its score."""
    letters = a[slice(*found.a)] == found.a_line.replace("-", "") and b[slice(*found.b)] == found.b_line.replace(
        "-", ""
    )
    nothing = not any(p == q == "-" for p, q in zip(found.a_line, found.b_line, strict=True))
    return letters and nothing and rescore(found, scoring) == found.score


def _tile(rng):
    return f"orthogonal:t={rng.choice((1, 7, 33, 64, 200))},s={rng.choice((64, 128, 192, 512))}"


@pytest.mark.parametrize("seed", range(4))
def test_random_proteins_score_like_biopython(seed):
    rng = random.Random(seed)  # noqa: S311
    blosum = substitution_matrices.load("BLOSUM62")
    for _ in range(50):
        a, b = _pair(rng, AMINO, 250)
        gaps = rng.randint(1, 15)
        scoring = choose_scoring((a, b), "BLOSUM62", (None, None), (gaps, rng.randint(0, gaps)))
        found = tw.align(
            a,
            b,
            matrix="BLOSUM62",
            gap_open=scoring.gap_open,
            gap_extend=scoring.gap_extend,
            tiling=_tile(rng),
            threads=rng.choice((1, 2)),
        )
        assert found.score == _biopython(a, b, scoring, blosum), (a, b, scoring.gap_open, scoring.gap_extend)
        assert _whole(found, a, b, scoring), (a, b, scoring.gap_open, scoring.gap_extend)


def test_random_nucleotides_score_like_biopython():
    rng = random.Random(11)  # noqa: S311
    for _ in range(40):
        a, b = _pair(rng, "ACGT", 300)
        a, b = a + "ACGT", b + "ACGT"  # every letter occurs, so the matrix has four rows
        pairs = (rng.randint(1, 9), -rng.randint(0, 9))
        gaps = rng.randint(0, 12)
        scoring = choose_scoring((a, b), None, pairs, (gaps, rng.randint(0, gaps)))
        found = tw.align(
            a,
            b,
            match=pairs[0],
            mismatch=pairs[1],
            gap_open=scoring.gap_open,
            gap_extend=scoring.gap_extend,
            tiling=_tile(rng),
        )
        assert found.score == _biopython(a, b, scoring), (a, b, pairs, scoring.gap_open, scoring.gap_extend)
        assert _whole(found, a, b, scoring)


@pytest.mark.parametrize(("pair", "matrix"), covering(REAL, ["BLOSUM62", "BLOSUM45", "PAM250"]))
def test_real_proteins_score_like_biopython(pair, matrix):
    a, b = (read_fasta(DATA / f"{name}.fasta")[number].letters for name, number in pair)
    scoring = matrix_scoring(matrix, 11, 1)
    found = tw.align(a, b, matrix=matrix, gap_open=11, gap_extend=1)
    assert found.score == _biopython(a, b, scoring, substitution_matrices.load(matrix))
    assert _whole(found, a, b, scoring)
    assert found.score == tw.align(a, b, matrix=matrix, gap_open=11, gap_extend=1, score_only=True).score


def test_shipped_matrices_are_biopythons():
    for name in ("BLOSUM45", "BLOSUM62", "BLOSUM80", "PAM250"):
        theirs = substitution_matrices.load(name)
        ours = matrix_scoring(name, 11, 1)
        assert ours.letters == theirs.alphabet
        assert np.array_equal(ours.array(), np.asarray(theirs, dtype=int))


def _scored(pair, bits, tile=(64, 128)):
    table = kernels.score_table(pair, tile, 2, bits=bits)
    return table.score, set(table.bits.ravel().tolist())


def test_tiles_that_do_not_fit_eight_bits_are_computed_on_more():
    rng = random.Random(5)  # noqa: S311
    a = "".join(rng.choice(AMINO) for _ in range(900))
    scoring = matrix_scoring("BLOSUM62", 11, 1)
    same = kernels.Pair(x=scoring.encode(a), y=scoring.encode(a), scoring=scoring)
    expected = sum(scoring.matrix[i][i] for i in same.x.tolist())
    found = [_scored(same, bits) for bits in (8, 16, 32)]
    assert [score for score, _ in found] == [expected] * 3
    assert [used for _, used in found] == [{8, 16}, {16}, {32}]


def test_scores_beyond_sixteen_bits():
    a = "ACGT" * 700
    found = tw.align(a, a, match=30, mismatch=-30, gap_open=50, gap_extend=5)
    assert found.score == 30 * len(a) > 2**16
    assert found.bits[1] == 32
    assert found.cigar == f"{len(a)}="


@pytest.mark.parametrize("limit", [254, 255, 256, 65534, 65535, 65536])
def test_scores_at_the_limits_of_a_type(limit):
    a = "A" * 7 + "C" * (limit - 7 if limit < 1000 else 2000)
    match = 1 if limit < 1000 else limit // len(a)
    rest = limit - match * len(a)
    b = a + "G" * rest
    found = tw.align(a, b, match=match, mismatch=-1, gap_open=3, gap_extend=1)
    assert found.score == match * len(a)


def test_extending_a_gap_may_cost_more_than_eight_bits_hold():
    a, b = "W" * 200, "W" * 90 + "A" * 70 + "W" * 110
    scoring = matrix_scoring("BLOSUM62", 300, 200)
    found = tw.align(a, b, matrix="BLOSUM62", gap_open=300, gap_extend=200)
    assert found.score == _biopython(a, b, scoring, substitution_matrices.load("BLOSUM62"))


def test_pairs_may_all_score():
    rng = random.Random(3)  # noqa: S311
    for _ in range(5):
        a, b = _pair(rng, "ACGT", 150)
        a, b = a + "ACGT", b + "ACGT"
        scoring = choose_scoring((a, b), None, (5, 2), (3, 1))
        found = tw.align(a, b, match=5, mismatch=2, gap_open=3, gap_extend=1)
        assert found.score == _biopython(a, b, scoring)


def test_nothing_in_common():
    found = tw.align("AAAA", "CCCC", match=1, mismatch=-1)
    assert (found.score, found.a, found.b, found.a_line, found.cigar) == (0, (0, 0), (0, 0), "", "")


def test_an_alignment_says_what_it_is():
    found = tw.align("TTGATTACATT", "gattaca", match=2, mismatch=-3, gap_open=5, gap_extend=2)
    assert (found.a, found.b, found.cigar, found.matches, found.gaps) == ((2, 9), (0, 7), "7=", 7, 0)
    document = found.to_dict()
    assert document["score"] == 14
    assert document["tiling"] == str(found.tiling)
    assert "GATTACA 9" in str(found)


@pytest.mark.parametrize(
    ("pair", "options"),
    [
        (("acgtacgtac", "ACGTACGTAC"), {}),
        (("GATTACAGATTUCA", "GATCAGATTACA"), {}),
        (("MKVLAAGIVJ*DE", "MKVAAGLVJ*DD"), {"matrix": "BLOSUM62"}),
        (("MKVLAAGIVDE", "MKVAAGLVDD"), {"matrix": "PAM250", "tiling": "orthogonal:t=4,s=64"}),
        (("acca", "acac"), {"matrix": "  A C\nA 2 -1\nC -1 2\n"}),
        (("été1a", "ÉTÉ2A"), {"match": 2, "mismatch": -1}),
    ],
)
def test_small_letters_count_as_capitals_in_all_that_is_said(pair, options):
    draw = np.random.default_rng(11)
    capitals = tw.align(pair[0].upper(), pair[1].upper(), **options)
    assert capitals.matches == sum(int(run[:-1]) for run in re.findall(r"\d+.", capitals.cigar) if run[-1] == "=") > 0
    for _ in range(5):
        a, b = ("".join(c.upper() if draw.random() < 0.5 else c.lower() for c in text) for text in pair)
        found = tw.align(a, b, **options)
        assert (found.score, found.cigar, found.matches) == (capitals.score, capitals.cigar, capitals.matches)
        assert str(found).upper().split("\n")[2:] == str(capitals).upper().split("\n")[2:]
        assert found.to_dict()["matches"] == capitals.matches
        assert (found.a_line, found.b_line) == (a[slice(*found.a)], b[slice(*found.b)]) or found.gaps


def test_letters_decide_the_scoring_and_the_result_says_so():
    nucleotides, proteins = tw.align("ACGTN", "ACGTN"), tw.align("MKVLE", "MKILE")
    assert (nucleotides.scoring, nucleotides.scoring_chosen) == ("match +2, mismatch -3", True)
    assert (proteins.scoring, proteins.scoring_chosen) == ("BLOSUM62", True)
    assert proteins.to_dict()["scoring_chosen"] is True
    assert ", BLOSUM62 as the letters decide, gaps 11" in str(proteins)
    asked = tw.align("MKVLE", "MKILE", matrix="BLOSUM62")
    assert not asked.scoring_chosen
    assert ", BLOSUM62, gaps 11" in str(asked)
    assert not tw.align("AC", "AC", match=1, mismatch=-1).scoring_chosen


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("ACGTW", "ACGTN"), "with the letters W beside nucleotides are taken for proteins, by BLOSUM62"),
        (("ACGT*", "acgt"), r"with the letters \* beside nucleotides are taken for proteins, by BLOSUM62"),
        (("ACGT", "MKVLE"), "the first sequence has the letters of nucleotides only, both are taken for proteins"),
        (("MKVLE", "ACGT"), "the second sequence has the letters of nucleotides only"),
    ],
)
def test_letters_that_nucleotides_may_have_too_are_warned_of(pair, message):
    with pytest.warns(tw.TilewrightWarning, match=message):
        found = tw.align(*pair)
    assert found.scoring == "BLOSUM62"
    forget_warnings()
    tw.align(*pair, matrix="BLOSUM62")  # asked for: no warning
    tw.align(*pair, match=1, mismatch=-1)


def test_a_stop_is_a_letter_of_a_protein():
    scoring = matrix_scoring("BLOSUM62", 11, 1)
    assert tw.align("MKE*", "MKE*").score == tw.align("MKE", "MKE").score + 1
    assert tw.align("MKEJ", "MKEJ").score == tw.align("MKEX", "MKEX").score  # no letter of BLOSUM62: X
    assert scoring.encode("*")[0] == scoring.letters.index("*")


def test_what_is_in_no_alphabet_is_refused_with_its_place():
    for call, message, hint in [
        (("GATT1", "GC"), "letter 5 of the first sequence is '1', which BLOSUM62 does not score", "leave digits out"),
        (
            ("MK", "M K"),
            "letter 2 of the second sequence is ' ', which BLOSUM62 does not score",
            "leave blanks and line",
        ),
        (("A B", "A"), "letter 2 of the first sequence is ' '", "such as by ''.join"),
        (("MK\n", "MK"), "letter 3 of the first sequence is '\\n'", "leave blanks and line ends out"),
        (("M-K", "MK"), "letter 2 of the first sequence is '-'", "it stands for a gap"),
        (("M.K", "MK"), "letter 2 of the first sequence is '.'", "it stands for a gap"),
        (("MK", "MK!"), "letter 3 of the second sequence is '!'", "its letters are ARND"),
        (("MÉ", "MK"), "letter 2 of the first sequence is 'É'", "its letters are ARND"),
        (("MKß", "MK"), "a sequence is made of letters, got 'ß'", ""),
    ]:
        with pytest.raises(UsageError) as raised:
            tw.align(*call)
        assert message in raised.value.message, (call, message, hint)
        assert hint in (raised.value.hint or ""), (call, message, hint)


def test_with_scores_of_pairs_whatever_occurs_is_a_letter_but_blanks_and_gaps():
    assert tw.align("a1b2", "a1b2", match=1, mismatch=-1).score == 4
    for text, place in (("AC GT", 3), ("AC-GT", 3), ("ACGT\n", 5)):
        with pytest.raises(UsageError, match=f"letter {place} of the second sequence is .* no letter"):
            tw.align("ACGT", text, match=1, mismatch=-1)


def test_the_default_tile_is_the_models():
    for score_only in (False, True):
        found = tw.align("GATTACA" * 60, "GCATGC" * 50, threads=2, score_only=score_only)
        rows, columns = alignment_default((420, 300), 5, host(), 2, traced=not score_only)
        assert (found.tiling.time, found.tiling.space) == (rows, (columns,))


def test_errors():
    for call, message in [
        (lambda: tw.align("", "A"), "the first sequence has no letters"),
        (lambda: tw.align("AC", b"AC"), r"'b' of align is a text, got b'AC' \(hint: use \.decode"),
        (lambda: tw.align("ACDE", "AC", matrix="BLOSUM61"), "did you mean BLOSUM62"),
        (lambda: tw.align("ACDE", "AC", matrix="BLOSUM62", match=1, mismatch=0), "not by both"),
        (lambda: tw.align("AC", "AC", match=1), "are given together"),
        (lambda: tw.align("AC", "AC", gap_open=1, gap_extend=2), "at most as much"),
        (lambda: tw.align("AC", "AC", gap_open=-11), "a cost, got -11"),
        (lambda: tw.align("AC", "AC", tiling="hybrid:t=4,s=8x8"), "orthogonal tiles"),
        (lambda: tw.align("AC", "AC", tiling="orthogonal:t=4,s=100"), "a multiple of 64"),
        (lambda: tw.align("AC", "AC", tiling="orthogonal:t=4,s=128,sub=4"), "sub is s / 64 = 2"),
        (lambda: tw.align("ACΔ", "AC", matrix="BLOSUM62"), "made of letters"),
        (lambda: tw.align("AC", "AC", matrix="  A C\nA 1 0\n"), "a row of 2 numbers"),
        (lambda: tw.align("AC", "AD", matrix="  A C\nA 1 0\nC 0 1\n"), "letter 2 of the second sequence is 'D'"),
    ]:
        with pytest.raises((UsageError, ArrayError), match=message.replace("+", r"\+")):
            call()


@pytest.mark.stress
def test_many_random_pairs():
    rng = random.Random(99)  # noqa: S311
    blosum = substitution_matrices.load("BLOSUM62")
    for _ in range(1500):
        a, b = _pair(rng, AMINO, 700)
        gaps = rng.randint(1, 20)
        scoring = choose_scoring((a, b), "BLOSUM62", (None, None), (gaps, rng.randint(0, gaps)))
        pair = kernels.Pair(x=scoring.encode(a), y=scoring.encode(b), scoring=scoring)
        tile = (rng.choice((1, 7, 64, 300)), 64 * rng.randint(1, 12))
        found = kernels.score_table(pair, tile, rng.choice((1, 2, 3)), bits=rng.choice((8, 16, 32)))
        assert found.score == _biopython(a, b, scoring, blosum)
