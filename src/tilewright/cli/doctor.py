"""``tilewright doctor``: what this machine has, what is missing, and the command that fixes it."""

from tilewright.cli import output
from tilewright.cli.options import Json


def doctor(as_json: Json = False) -> None:
    """Say what this machine has, what is missing, and the command that fixes it.

    Example: tilewright doctor
    """
    from tilewright.verbs.doctor import diagnose

    diagnosis = diagnose()
    if as_json:
        output.emit(diagnosis.to_dict())
    for check in diagnosis.checks:
        output.say(f"{check.state:<7} {check.name:<13} {check.detail}", as_json)
        if check.fix:
            output.say(f"{'':<7} {'':<13} fix: {check.fix}", as_json)
    count = len(diagnosis.faults)
    output.say(f"{count} fault{'s' * (count != 1)}" if count else "everything needed is there", as_json)
