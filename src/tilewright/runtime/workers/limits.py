"""Limits of what this process may use, where the system has them: Windows has not."""

from contextlib import suppress


def set_limit(name: str, soft: int, hard: int | None = None) -> None:
    """Limit a resource of this process; nothing happens where the system has no such limit or refuses it.

    Args:
        name: The limit, as :mod:`resource` names it: ``RLIMIT_AS``.
        soft: The limit, in the resource's unit.
        hard: Up to what it may be raised again; what holds so far by default.
    """
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        kind = getattr(resource, name)
        resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1] if hard is None else hard))


def limit_process(pid: int, name: str, limit: int) -> None:
    """Limit a resource of a process that has just begun, and of those that it starts; elsewhere than on Linux nothing.

    Args:
        pid: The process.
        name: The limit, as :mod:`resource` names it.
        limit: The limit, in the resource's unit.
    """
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        resource.prlimit(pid, getattr(resource, name), (limit, limit))
