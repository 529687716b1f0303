"""``tilewright run``: compute."""

from dataclasses import fields

from tilewright.cli import output
from tilewright.cli.options import Json, ProgramName
from tilewright.verbs.options import RunFiles, RunOptions


def run(program: ProgramName, files: RunFiles, options: RunOptions, as_json: Json = False) -> None:
    """Compute a program on your own array or picture, or on random data in 0 to 1.

    A recurrence fills a table from two sequences: their best alignment, or their distance.

    Example: tilewright run heat2d --shape 2048x2048 --steps 256 --check

    Example: tilewright run smith_waterman --input a.fasta --input b.fasta --set gap_open=11

    Example: mpiexec -n 4 tilewright run heat2d --distributed --shape 8192x8192 --steps 1000
    """
    from tilewright.cli.jobs import job
    from tilewright.cli.jobs import table as table_job
    from tilewright.programs.stencil.program import Program
    from tilewright.verbs.load import load_run
    from tilewright.verbs.options import refuse

    said = {**options.keywords(), **files.keywords(), "program": program, "tile": options.tiling}
    said |= {"steps": 1 if options.steps is None else options.steps, "sources": options.sources or ()}
    asked = job.Job(**{field.name: said[field.name] for field in fields(job.Job)})
    if files.distributed:
        from tilewright.cli.jobs.distributed import perform as perform_on_ranks

        refuse("--distributed", options, files)
        told = perform_on_ranks(asked, files.topology, options.checkpoint, resume=options.resume)
        if told is not None:
            output.tell(told, as_json)
        return
    refuse("a run on one process", options, files)
    report: job.Report | table_job.TableReport
    if isinstance(load_run(program, options.steps), Program):
        if files.check:
            refuse("a checked run", options)
        report = job.perform(asked, output.note)
    else:
        refuse("a table", options, files)
        report = table_job.perform(asked, output.note)
    output.tell(report, as_json)
    report.raise_if_wrong()
