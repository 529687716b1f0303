"""Where a run has its fields' versions and cells, beside the problem: what is computed does not depend on it."""

from dataclasses import dataclass

from tilewright.programs.stencil.subdomains import Subdomain

Subdomains = tuple[tuple[str, Subdomain], ...]
"""Fields that live at the ends of an axis alone, and where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """What is in memory where that is not the versions that steps need, of all cells."""

    # versions of updated fields, where more than the steps need: after a run of fewer steps every state is there
    kept: int = 0
    series: tuple[str, ...] = ()  # fields that no statement updates, with a version per step
    subdomains: Subdomains = ()  # updated fields whose arrays have the cells of their subdomains alone

    @property
    def states(self) -> bool:
        """Whether the states of all steps are kept or read."""
        return bool(self.kept or self.series)

    def shape(self, field: str, grid: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of a field's arrays: the grid's but in subdomains."""
        part = dict(self.subdomains).get(field)
        return grid if part is None else part.shape(grid)


PLAIN = Storage()
"""The versions that steps need, of all cells."""
