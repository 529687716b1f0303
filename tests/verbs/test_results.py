"""What verbs return: keys that are there, and pages that are small."""

import importlib
import pkgutil

import pytest

import tilewright as tw
from tilewright import sparse, tuning, verbs
from tilewright.base.records import Record
from tilewright.programs.stencil.catalogue import program
from tilewright.verbs.energy.energy import compare, energy
from tilewright.verbs.explain import family
from tilewright.workloads.chains.chain import plan
from tilewright.workloads.codesign.area import area


def records():
    for package in (verbs, tuning, sparse):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    known = [Record]
    for each in known:
        known += each.__subclasses__()
    return [each for each in known if each.__module__.startswith("tilewright.") and each.KEYS]


def test_every_key_of_a_record_is_there():
    found = records()
    assert len(found) > 20
    for each in found:
        fields = getattr(each, "__dataclass_fields__", {})
        for entry in each.KEYS.split():
            key, _, path = entry.partition("=")
            name = (path or key).partition(".")[0]
            assert name in fields or hasattr(each, name), (each, entry)


CASE = {"shape": (64, 64), "steps": 16, "machine": "k20c"}
RESULTS = {
    "select": lambda: tw.select("heat2d", within=None, top=30, **CASE),
    "fuse": lambda: tw.fuse("blur", shape=(512, 512), machine="gtx780", top=3),
    "whatif": lambda: tw.whatif("heat2d", vary="clock", factors=(0.5,), **CASE),
    "supertune": lambda: tw.supertune("heat2d", **CASE),
    "energy": lambda: energy("heat2d", **CASE),
    "compare": lambda: compare("jacobi2d", **CASE),
    "chain": lambda: plan((300, 400, 300), memory=10_000),
    "area": lambda: area("gtx980"),
    "family": lambda: family("hybrid"),
    "cluster": lambda: tw.predict(
        program("heat2d"), shape=(4096, 4096), steps=8, machine="zen3", ranks=4, network="hdr"
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_notebook_shows_a_small_page(name):
    result = RESULTS[name]()
    page = result._repr_html_()
    assert page.startswith('<div class="tw"><style>')
    assert len(page) < 8_000
    assert len(repr(result)) < 8_000
    assert str(result) == repr(result)
    assert isinstance(result.to_dict(), dict)
