"""Limits of what this process may use, where the system has them: Windows has not."""

from contextlib import suppress


def set_limit(name: str, soft: int, hard: int | None = None) -> None:
    """Limit a resource of this process, named as in :mod:`resource`; nothing happens where the system refuses it."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        kind = getattr(resource, name)
        resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1] if hard is None else hard))


def stack_bytes() -> int:
    """Addresses that a thread's stack takes, where this process limits them; 0 where it does not, or is not asked."""
    with suppress(ImportError):
        import resource

        return max(0, resource.getrlimit(resource.RLIMIT_STACK)[0])  # "no limit" is -1: threads then take 2 MiB
    return 0
