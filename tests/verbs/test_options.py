"""Options: a record per verb, whose fields are the verb's keywords; what does not go with a kind of run is a table."""

import dataclasses
import inspect
import pickle

import pytest
import typer

import tilewright as tw
from tilewright.base.options import Options
from tilewright.cli.app import COMMANDS, app
from tilewright.cli.predict import PredictOutput
from tilewright.verbs import options
from tilewright.verbs.energy.energy import compare
from tilewright.verbs.energy.runs import fit_energy
from tilewright.verbs.options import REFUSED, RunFiles, RunOptions, refuse
from tilewright.verbs.running.grids import batch, dask, device, disk, memory, ranks, series
from tilewright.verbs.running.grids.engine import Engine
from tilewright.verbs.validate import validate_here
from tilewright.verbs.whatif import reuse
from tilewright.workloads.chains.chain import plan
from tilewright.workloads.codesign.area import area

VERBS = {
    tw.run: options.RunOptions,
    tw.tune: options.TuneOptions,
    tw.predict: options.PredictOptions,
    tw.select: options.SelectOptions,
    tw.supertune: options.SupertuneOptions,
    tw.energy: options.EnergyOptions,
    compare: options.CompareOptions,
    tw.whatif: options.WhatIfOptions,
    reuse: options.ReuseOptions,
    tw.calibrate: options.CalibrateOptions,
    tw.validate: options.ValidateOptions,
    validate_here: options.MeasureOptions,
    fit_energy: options.FitOptions,
    tw.fuse: options.FuseOptions,
    plan: options.ChainOptions,
    tw.annotate: options.AnnotateOptions,
    area: options.AreaOptions,
}


def _below(record):
    return [each for below in record.__subclasses__() for each in (below, *_below(below))]


assert all(typer.main.get_command(app).commands.values())  # which loads the records of all commands
RECORDS = _below(Options)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_the_fields_of_a_record_are_the_keywords_of_its_verb(verb):
    parameters = inspect.signature(verb).parameters.values()
    keywords = {each.name: each.default for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}
    fields = VERBS[verb].__dataclass_fields__
    assert set(keywords) == set(fields)
    for name, default in keywords.items():
        required = default is inspect.Parameter.empty
        assert required == (fields[name].default is dataclasses.MISSING)
        assert required or fields[name].default == default
        assert "Args:" not in verb.__doc__ or f"\n    {name}: " in inspect.getdoc(verb), name


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_what_a_command_offers_says_what_it_means(record):
    for name, offer in record.offers().items():
        assert offer.meaning, name
        assert all(flag.startswith("-") for flag in offer.flags)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "wisdom"])
def test_help_shows_few_options_first_and_a_tiling_by_both_names(name):
    command = typer.main.get_command(app).commands[name]
    offered = [each for each in command.params if each.param_type_name == "option"]
    assert sum(each.rich_help_panel is None for each in offered) <= 15
    assert all(set(each.opts) >= {"--tile", "--tiling"} for each in offered if each.name == "tiling")


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_is_an_option(kind):
    names = {name for record in RECORDS for name in record.__dataclass_fields__}
    assert names >= {name for refusal in REFUSED[kind] for name in refusal.options}


@pytest.mark.parametrize(
    ("kind", "given", "sentence"),
    [
        ("a run over axes", {"every": 3}, "a run over axes takes no every, callback"),
        ("a run on Dask arrays", {"out": 0}, "a run on Dask arrays is lazy and takes no out (hint: store its result"),
        ("a table", {"every": 3}, "--every is for stencils, which march in time; a table is filled once"),
        ("a table", {"sources": ("8=1",)}, "--source is for stencils, which march in time"),
        ("--distributed", {"check": True}, "--distributed does not go with --check (hint: run on one process)"),
        ("--distributed", {"check": True, "until": 1.0}, "--distributed does not go with --check"),
    ],
)
def test_a_refusal_is_one_sentence(kind, given, sentence):
    run = RunOptions(steps=1, **{name: value for name, value in given.items() if name != "check"})
    files = RunFiles(check=given.get("check", False))
    with pytest.raises(tw.UsageError) as refused:
        refuse(kind, run, files)
    assert str(refused.value).startswith(sentence)


def test_nothing_is_refused_where_nothing_is_asked():
    nowhere = {"shape": None, "steps": None}
    predicted = options.PredictOptions(**nowhere), options.SelectOptions(**nowhere, within=None)
    for kind in REFUSED:
        refuse(kind, RunOptions(steps=None), RunFiles(), *predicted, PredictOutput())


def test_a_record_is_frozen_and_made_of_its_fields():
    run = RunOptions(steps=3, every=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.steps = 4
    for wrong in ({}, {"steps": 1, "bondary": "wrap"}, {"bondary": "wrap"}):
        with pytest.raises(TypeError, match="missing or unknown: "):
            RunOptions(**wrong)
    changed = dataclasses.replace(run, every=None)
    assert (changed.steps, changed.every, run.every) == (3, None, 2)
    assert vars(RunOptions.of(vars(run))) == vars(run) == vars(pickle.loads(pickle.dumps(run)))  # noqa: S301
    assert repr(run).startswith("RunOptions(steps=3, boundary='fixed', ")


@pytest.mark.parametrize("module", [batch, dask, device, disk, memory, ranks, series], ids=lambda each: each.__name__)
def test_every_kind_of_run_says_what_does_not_go_with_it(module):
    kinds = [each for each in vars(module).values() if inspect.isclass(each) and issubclass(each, Engine)]
    names = [each.name for each in kinds if each.__module__ == module.__name__]
    assert names
    assert set(names) <= set(REFUSED)
