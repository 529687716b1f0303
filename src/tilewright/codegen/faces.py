"""Rows of hexagons and diamonds as IR."""

from tilewright.codegen.ir import Expr, Int, Op, mul, select, smallest, sub
from tilewright.tilings.geometry import Diamond, Face


def face_grown(face: Face, row: Expr) -> Expr:
    """By how many cells a row extends beyond the first one on each side."""
    if not isinstance(face, Diamond):
        return mul(smallest(row, sub(Int(face.height - 1), row)), face.slope)
    half, rise = face.half, face.pitch // 2
    step = Op("mod", (row, Int(half)))
    risen = mul(step, rise // half) if rise % half == 0 else Op("div", (mul(step, rise), Int(half)))
    return select(Op("lt", (row, Int(half))), risen, sub(Int(face.overhang), risen))


def face_note(face: Face) -> str:
    """A line about it for the reader of the kernel."""
    if isinstance(face, Diamond):
        return f"diamonds of {face.height} rows, pitch {face.pitch}"
    return f"hexagons of {face.height} rows, base {face.base}, slope {face.slope}, pitch {face.pitch}"
