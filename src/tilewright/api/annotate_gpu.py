"""Regions on a device (placeholder wiring until the generators are in)."""

from tilewright.api.annotate_case import Case
from tilewright.base.errors import UsageError


def plain_device(case, options):
    raise UsageError("not yet")


def tune_device(case, options, seconds):
    raise UsageError("not yet")
