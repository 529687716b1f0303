"""The errors a user sees: one sentence each, with a hint.

Every error states what was expected, what was got (quoted) and where, and offers a hint. The command line prints
``str(error)`` and exits with :attr:`TilewrightError.exit_status`.
"""


class TilewrightError(Exception):
    """Base class of every error that tilewright raises on purpose.

    Args:
        message: One sentence: what was expected and what was got.
        hint: What to do about it, or an empty string.
    """

    exit_status = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message


class UsageError(TilewrightError, ValueError):
    """A name, option or value that cannot be used; exit status 2."""

    exit_status = 2


class TraceError(UsageError):
    """A stencil function that cannot be traced."""


class ArrayError(UsageError):
    """An array whose rank, shape, dtype or layout does not fit the program."""


class IllegalTilingError(UsageError):
    """A tiling that breaks a dependence of the program or does not apply to it."""


class IllegalTransformError(UsageError):
    """A transformation of loops that breaks a dependence, which the message names, or does not apply."""


class ToolchainError(TilewrightError):
    """A compiler that is missing, or that failed."""


class DeviceError(ToolchainError):
    """A device that failed while it ran: an access outside its memory, a launch that it refuses. It may be unusable."""


class SpillsError(ToolchainError):
    """A kernel whose values do not fit into registers."""


class WrongResultError(TilewrightError):
    """A computed result outside its rounding bound."""


class TilewrightWarning(UserWarning):
    """Something works less well than it could; the message says what to do about it."""
