"""What goes in version 0.3.0: one table, from which the warnings, a page and a test are made."""

from dataclasses import dataclass

from tilewright.base.errors import TilewrightWarning

GOES_IN = "0.3.0"


class TilewrightDeprecationWarning(TilewrightWarning, DeprecationWarning):
    """Something that a call asks for by name goes in the next minor version; the message says what to write then."""


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Something that goes.

    Attributes:
        name: What is written today.
        sentence: What becomes of it, a sentence that the version ends.
        instead: What to write, or where it is then.
    """

    name: str
    sentence: str
    instead: str

    def __str__(self) -> str:
        return f"{self.sentence} in version {GOES_IN} (hint: {self.instead})"


DEPRECATIONS = {
    each.name: each
    for each in (
        Deprecation(
            "overlapped",
            "the tiling family overlapped goes",
            "leave the tiling out, or write hexagonal, hybrid or streaming",
        ),
        Deprecation(
            "wavefront-diamond",
            "the tiling family wavefront-diamond goes, and with it the key team",
            "leave the tiling out, or write hybrid or streaming",
        ),
        Deprecation(
            "variant=param",
            "tile sizes as run-time parameters, variant=param, go",
            "leave variant out; the key is still read then and means nothing",
        ),
        Deprecation(
            "reuse=move",
            "tiles that move what they keep on chip, reuse=move, go",
            "leave reuse out; the key is still read then and means nothing",
        ),
        Deprecation(
            "energy --micro",
            "the micro-benchmarks of `tilewright energy --micro` leave the package",
            "they are in reproduce/energy of the source then; --fit and --meter stay",
        ),
        Deprecation(
            "tilewright.pypde",
            "py-pde's backend tilewright.pypde leaves the package",
            "it is in examples of the source then",
        ),
        Deprecation(
            "threads=",
            "the option threads of tw.select (--thread-shapes) goes",
            "leave it out: a GPU's thread blocks are chosen with the tiles",
        ),
        Deprecation("border=", "the option border (--border) goes", "write boundary (--boundary), its name in tw.run"),
        Deprecation(
            "write_t4",
            "tilewright.runtime.formats.tuner_files.write_t4 goes",
            "T4 results are still read; write them from the JSON of `tilewright tune`",
        ),
    )
}
"""What goes, by what is written today."""
