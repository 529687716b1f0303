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
