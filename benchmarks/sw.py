"""Scores of local alignments (Smith-Waterman with affine gaps) against parasail.

    python benchmarks/sw.py [--size 10000] [--repetitions 15] [--output FILE.json]

Random and related proteins and nucleotides. Every contender computes the score of one pair, the letters given as text,
everything included but compiling. parasail (https://github.com/jeffdaily/parasail) computes one pair on one thread; its
entry is the fastest of its functions whose score is right in this very run. tilewright runs on one thread and on all.
Contenders take turns, so that slow moments of the machine meet all of them; scores are compared, and a wrong one ends
the run with status 1.
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import environment
import summary
import tilewright as tw

AMINO, BASES = "ARNDCQEGHILKMFPSTWYV", "ACGT"
FUNCTIONS = [f"sw_{kind}_{bits}" for kind in ("striped", "scan", "diag") for bits in ("8", "16", "32", "sat")] + ["ssw"]
PAUSE = 0.004
"""Seconds between contenders: OpenMP's threads spin for a while after their work."""


@dataclass(frozen=True)
class Pair:
    """Two sequences and their scoring."""

    name: str
    a: str
    b: str
    matrix: str
    pairs: tuple[int, int]
    gaps: tuple[int, int]


def related(rng: random.Random, a: str, letters: str, changed: float) -> str:
    """Return a copy with a share of letters changed, and 2 % left out and put in."""
    copy = []
    for letter in a:
        draw = rng.random()
        if draw < 0.02:
            continue
        copy.append(rng.choice(letters) if draw < 0.02 + changed else letter)
        if rng.random() < 0.02:
            copy.append(rng.choice(letters))
    return "".join(copy)[: len(a)]


def make_pairs(size: int, seed: int) -> list[Pair]:
    rng = random.Random(seed)  # noqa: S311

    def text(letters: str) -> str:
        return "".join(rng.choice(letters) for _ in range(size))

    protein, dna = text(AMINO), text(BASES)
    amino = {"matrix": "BLOSUM62", "pairs": (0, 0), "gaps": (11, 1)}
    bases = {"matrix": "", "pairs": (2, -3), "gaps": (5, 2)}
    return [
        Pair("proteins, random", protein, text(AMINO), **amino),
        Pair("proteins, 30 % changed", protein, related(rng, protein, AMINO, 0.3), **amino),
        Pair("nucleotides, random", dna, text(BASES), **bases),
        Pair("nucleotides, 10 % changed", dna, related(rng, dna, BASES, 0.1), **bases),
    ]


def ours(pair: Pair, threads: int) -> Callable[[], tuple[int, bool]]:
    score = {"matrix": pair.matrix} if pair.matrix else {"match": pair.pairs[0], "mismatch": pair.pairs[1]}
    gaps = {"gap_open": pair.gaps[0], "gap_extend": pair.gaps[1]}

    def call() -> tuple[int, bool]:
        return tw.align(pair.a, pair.b, **score, **gaps, score_only=True, threads=threads).score, True

    return call


def parasails(pair: Pair) -> dict[str, Callable[[], tuple[int, bool]]]:
    """Return every function of parasail; a second value says whether the score fitted its type."""
    try:
        import parasail
    except ImportError:
        print("parasail is not installed: pip install parasail", file=sys.stderr)
        return {}
    matrix = parasail.blosum62 if pair.matrix else parasail.matrix_create(BASES, *pair.pairs)

    def make(name: str) -> Callable[[], tuple[int, bool]]:
        function = getattr(parasail, name)

        def call() -> tuple[int, bool]:
            found = function(pair.a, pair.b, *pair.gaps, matrix)
            if name == "ssw":
                return (found.score1, True) if found else (0, False)
            return found.score, not found.saturated

        return call

    return {f"parasail {name}": make(name) for name in FUNCTIONS if hasattr(parasail, name)}


def timed(call: Callable[[], tuple[int, bool]]) -> tuple[float, int, bool]:
    time.sleep(PAUSE)
    begin = time.perf_counter()
    score, good = call()
    return time.perf_counter() - begin, score, good


def measure(pair: Pair, repetitions: int, threads: int) -> dict[str, object]:
    """Time every contender in turn; functions of parasail that are far from its best after two rounds drop out."""
    contenders = {f"tilewright, {count} thread{'s' * (count > 1)}": ours(pair, count) for count in sorted({1, threads})}
    rivals = parasails(pair)
    samples: dict[str, list[float]] = {}
    expected = contenders[min(contenders)]()[0]
    wrong = []
    live = {**contenders, **rivals}
    for repetition in range(repetitions + 1):
        for name, call in list(live.items()):
            seconds, score, good = timed(call)
            if not good:
                del live[name]
            elif score != expected:
                wrong.append(f"{name} scores {score}, not {expected}")
                del live[name]
            elif repetition:
                samples.setdefault(name, []).append(seconds)
        if repetition == 2:
            medians = {name: statistics.median(samples[name]) for name in live if name in rivals}
            for name, median in medians.items():
                if median > 1.5 * min(medians.values()):
                    del live[name]
                    del samples[name]
    cells = len(pair.a) * len(pair.b)
    found = {name: {"seconds": each, "gcups": cells / statistics.median(each) / 1e9} for name, each in samples.items()}
    best = max((name for name in found if name in rivals), key=lambda name: found[name]["gcups"], default=None)
    record: dict[str, object] = {"score": expected, "cells": cells, "contenders": found, "wrong": wrong, "best": best}
    if best is not None:
        record["ratios"] = {name: summary.paired_ratio(samples[name], samples[best]) for name in contenders}
    return record


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=10_000, help="letters of each sequence")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="2000 letters, 3 repetitions: figures mean nothing")
    parser.add_argument("--output", type=Path, help="write the record as JSON")
    chosen = parser.parse_args(arguments)
    size, repetitions = (2000, 3) if chosen.quick else (chosen.size, chosen.repetitions)
    threads = environment.cores()
    record: dict[str, object] = {"environment": environment.describe(threads), "size": size, "pairs": {}}
    status = 0
    for pair in make_pairs(size, chosen.seed):
        found = measure(pair, repetitions, threads)
        record["pairs"][pair.name] = found
        print(f"{pair.name}, {len(pair.a)} x {len(pair.b)}, score {found['score']}")
        for name, each in found["contenders"].items():
            print(f"  {name:28} {each['gcups']:7.2f} GCUPS{'  <- best of parasail' * (name == found['best'])}")
        for name, ratio in found.get("ratios", {}).items():
            print(
                f"  {name} / {found['best']} (1 thread): {ratio['median']:.2f} ({ratio['low']:.2f}-{ratio['high']:.2f})"
            )
        for line in found["wrong"]:
            print(f"  WRONG: {line}")
            status = 1
    if chosen.output:
        chosen.output.write_text(json.dumps(record, indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
