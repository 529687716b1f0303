"""What goes in the next minor version and what went in this one: tables, from which warnings and a page are made."""

from dataclasses import dataclass

from tilewright.base.errors import TilewrightWarning, UsageError

GOES_IN = "0.4.0"
WENT_IN = "0.3.0"


class TilewrightDeprecationWarning(TilewrightWarning, DeprecationWarning):
    """Something that a call asks for by name goes in the next minor version; the message says what to write then."""


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Something that goes, or is gone."""

    name: str  # what is written until then
    sentence: str  # what becomes of it; the version is put behind it
    instead: str  # what to write, or where it is then
    version: str = WENT_IN  # the one in which it goes, or went

    def __str__(self) -> str:
        return f"{self.sentence} in version {self.version} (hint: {self.instead})"

    def error(self) -> UsageError:
        """Return the refusal of what is gone."""
        return UsageError(f"{self.sentence} in version {self.version}", self.instead)


def _table(*rows: Deprecation) -> dict[str, Deprecation]:
    return {each.name: each for each in rows}


DEPRECATIONS = _table(
    Deprecation(
        "threads=",
        "the option threads of tw.select (--thread-shapes) goes",
        "leave it out: a GPU's thread blocks are chosen with the tiles",
        GOES_IN,
    ),
)
"""What goes, by what is written today: it works, and warns."""
GONE = _table(
    Deprecation(
        "overlapped",
        "the tiling family overlapped was removed",
        "leave the tiling out, or write hexagonal, hybrid or streaming",
    ),
    Deprecation(
        "wavefront-diamond",
        "the tiling family wavefront-diamond, and with it the key team, was removed",
        "leave the tiling out, or write hybrid or streaming",
    ),
    Deprecation(
        "variant=param",
        "tile sizes as run-time parameters, variant=param, were removed",
        "leave variant out; the key is read and means nothing",
    ),
    Deprecation(
        "reuse=move",
        "tiles that move what they keep on chip, reuse=move, were removed",
        "leave reuse out; the key is read and means nothing",
    ),
    Deprecation(
        "border=",
        "the option border (--border) was removed",
        "write boundary (--boundary), its name in tw.run",
    ),
    Deprecation(
        "energy --micro",
        "the micro-benchmarks of `tilewright energy --micro` left the package",
        "run reproduce/energy_micro.py of the source; --fit and --meter stay",
    ),
    Deprecation(
        "tilewright.pypde",
        "py-pde's backend tilewright.pypde left the package",
        "it is examples/pypde_backend.py of the source",
    ),
    Deprecation(
        "write_t4",
        "the writer write_t4 of T4 results was removed",
        "T4 results are still read; write them from the JSON of `tilewright tune`",
    ),
)
"""What is gone, by what was written until then: it is refused, or means nothing."""


def gone(option: str) -> Deprecation | None:
    """Return what became of an option of a call (``border``) or of a command (``--border``) that is gone, or None."""
    removals = {name.split()[-1].strip("-="): each for name, each in GONE.items()}
    return removals.get(option.strip("-"))


def refuse(*options: str) -> None:
    """Refuse options that are gone."""
    for removal in filter(None, map(gone, options)):
        raise removal.error()
