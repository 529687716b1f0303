"""Fetch the public V100 measurements that `tilewright validate` and its tests read: pinned commit, checked digests.

python benchmarks/fetch_stencilbench.py [DIR]

The logs are from https://github.com/khaki3/StencilBench (MIT licence): GFLOP/s of hybrid hexagonal/classic code on an
NVIDIA V100, one line per configuration. Point TILEWRIGHT_DATA at the folder above DIR, and the tests find them.
"""

import argparse
import hashlib
import sys
import urllib.error
import urllib.request
from pathlib import Path

COMMIT = "3ecf4d75552e49ca0d9b637abbeb7ce1d3eae7cd"
FOLDER = "hybrid-params/hybrid-parameter-search-log/v100"
ADDRESS = "https://raw.githubusercontent.com/khaki3/StencilBench/{commit}/{folder}/{name}"
MAX_BYTES = 2**22
DIGESTS = {
    "gradient2d": "b1a75fe413446bdd5326c5ffecac4ebc20f90e4d0d6c60e58e327be6f3e727f9",
    "j2d5pt": "9170d5baf08ca901cc08866b498fae1df4b1b7f200b94151beb70a4512e2fe7e",
    "j2d9pt-gol": "4fa09d06e31e6aa62a082937836036174c208ca76435d2e7d3fce8738e130cb2",
    "j2d9pt": "30fb39ac1238eef6f70c76788ad1a85ff9847c3641c86f0849e4acc2f627a2cf",
    "j3d27pt": "138482b645f68034809ad8468af99f9919fe13fa1da91caa7b290c6febcc6e2b",
    "star3d1r": "4c80e95cfe3bfce1078f7423e7924161d2711714a0790841a1bc3a9716ace870",
    "star3d2r": "17843aa5fb186af2a84d40ba1a92ea3a6dcc3ec26fc92a7a145d0a109eaa1edb",
}
"""SHA-256 of every log."""
OTHER_NAMES = {"gradient2d": ("gradient2d_out.log",), "j3d27pt": ("heat3d_out.log",)}
"""Names that a log had in earlier commits; whatever the name, the digest decides."""


def fetch(stencil: str) -> bytes:
    """Return a log whose digest is right.

    Raises:
        RuntimeError: If no file of that digest can be had.
    """
    problems = []
    for name in (f"{stencil}.log", *OTHER_NAMES.get(stencil, ())):
        address = ADDRESS.format(commit=COMMIT, folder=FOLDER, name=name)
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310  (a fixed https address)
                data: bytes = answer.read(MAX_BYTES + 1)
        except (urllib.error.URLError, OSError) as error:
            problems.append(f"{name}: {error}")
            continue
        if hashlib.sha256(data).hexdigest() == DIGESTS[stencil]:
            return data
        problems.append(f"{name}: its digest is wrong")
    raise RuntimeError(f"{stencil}: {'; '.join(problems)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("data/stencilbench_v100"))
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for stencil, digest in DIGESTS.items():
        target = folder / f"{stencil}.log"
        if target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == digest:
            print(f"{target} is there")
            continue
        try:
            target.write_bytes(fetch(stencil))
            print(f"{target} fetched")
        except RuntimeError as error:
            failed += 1
            print(error, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
