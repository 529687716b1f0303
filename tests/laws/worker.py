"""Runs compiled cases in a process of its own: a kernel that crashes must not take the tests with it.

Reads the cases from a JSON file and prints ``[index, what is wrong, shares]`` per case, one line each; the shares
are those of its rounding bounds that its errors take up.
"""

import json
import sys
from pathlib import Path

from .generator import make_case
from .harness import Built, run_kernel, verdict


def main(path: str) -> None:
    """Run every case of the file, in its order."""
    for seed, index, values in json.loads(Path(path).read_text()):
        case = make_case(seed, index)
        kernel = Built(**{**values, "copies": tuple(values["copies"]), "constants": tuple(values["constants"])})
        shares: list[float] = []
        try:
            wrong = verdict(case, run_kernel(case, kernel), shares)
        except AssertionError as error:
            wrong = str(error)
        sys.stdout.write(json.dumps([index, wrong, shares]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
