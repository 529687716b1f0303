"""Rows of hexagons and diamonds as IR."""

from tilewright.codegen import ir
from tilewright.tilings.geometry import Diamond, Face


def face_grown(face: Face, row: ir.Expr) -> ir.Expr:
    """By how many cells a row extends beyond the first one on each side."""
    if not isinstance(face, Diamond):
        return ir.mul(ir.smallest(row, ir.sub(ir.Int(face.height - 1), row)), face.slope)
    half, rise = face.half, face.pitch // 2
    step = ir.mod(row, half)
    risen = ir.mul(step, rise // half) if rise % half == 0 else ir.div(ir.mul(step, rise), half)
    return ir.select(ir.lt(row, half), risen, ir.sub(ir.Int(face.overhang), risen))


def face_note(face: Face) -> str:
    """A line about it for the reader of the kernel."""
    if isinstance(face, Diamond):
        return f"diamonds of {face.height} rows, pitch {face.pitch}"
    return f"hexagons of {face.height} rows, base {face.base}, slope {face.slope}, pitch {face.pitch}"
