"""``tilewright doctor``: what this machine has, what is missing, and the command that fixes it."""

from tilewright.base.tables import table
from tilewright.cli import output
from tilewright.cli.options import Json


def doctor(as_json: Json = False) -> None:
    """Say what this machine has, what is missing, and the command that fixes it.

    Example: tilewright doctor
    """
    from tilewright.verbs.doctor import diagnose

    diagnosis = diagnose()
    rows = [(c.state, c.name, c.detail + (f"\nfix: {c.fix}" if c.fix else "")) for c in diagnosis.checks]
    count = len(diagnosis.faults)
    verdict = f"{count} fault{'s' * (count != 1)}" if count else "everything needed is there"
    output.show(diagnosis.to_dict(), lambda: (table(("state", "what", "what is there"), rows), verdict), as_json)
