"""Words that matrix products move, as printed where it matters: Prajapati, thesis, appendix D.

Under ``published`` R is always kept (D.3), and a right fusion has the printed beta = P0/P1 (D.12 to D.14), where (D.11)
itself gives P0/P2. A left fusion (D.10) is right as printed: it is the closed form of
:func:`tilewright.workloads.chains.traffic.closed_form`, as is (D.3).
"""

from collections.abc import Sequence

import numpy as np

from tilewright.costs.arrays import Floats


def right_fusion(p: Sequence[Floats], memory: int) -> tuple[Floats, Floats]:
    """Words of a right fusion with its best block (D.14), and the block's rows."""
    beta = p[0] / p[1]
    second = (1 + 2 * beta) / (1 + beta)
    words = 2 * p[1] * p[2] * p[3] * (1 + beta) * np.sqrt(second / memory) - p[0] * p[3]
    return words, np.sqrt(memory * second)
