"""Silicon area of a GPU as printed: Prajapati, thesis, appendix C, equation (C.7).

(C.7) is (C.6) with truncated coefficients, and with the intercepts of the memories gathered into those of the vector
units and of the SMs. Its terms are those of :func:`tilewright.workloads.codesign.area.parts`.
"""

from collections.abc import Mapping

COEFFICIENTS: Mapping[str, float] = {
    "vector_unit": 0.0447,
    "register_kb": 0.0043,
    "register": 0.0,
    "shared_kb": 0.015,
    "shared": 0.0,
    "l1_kb": 0.16,
    "l1": 0.0,
    "l2_kb": 0.041,
    "l2": 0.0,
    "overhead": 7.317,
}
"""What (C.7) has in place of a machine's own, in mm^2 and mm^2 per kB."""
