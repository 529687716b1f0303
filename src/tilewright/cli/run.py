"""``tilewright run``: compute."""

from dataclasses import replace

from tilewright.cli import output
from tilewright.cli.options import Json, ProgramName
from tilewright.verbs.options import RunFiles, RunOptions, refuse


def run(program: ProgramName, files: RunFiles, options: RunOptions, as_json: Json = False) -> None:
    """Compute a program on your own array or picture, or on random data in 0 to 1.

    A recurrence fills a table from two sequences: their best alignment, or their distance.

    Example: tilewright run heat2d --shape 2048x2048 --steps 256 --check

    Example: tilewright run smith_waterman --input a.fasta --input b.fasta --set gap_open=11

    Example: mpiexec -n 4 tilewright run heat2d --distributed --shape 8192x8192 --steps 1000
    """
    from tilewright.programs.stencil.program import Program
    from tilewright.verbs.dispatch import server_of
    from tilewright.verbs.files import run_files, run_files_on_ranks
    from tilewright.verbs.load import load_program, load_run

    once = replace(options, steps=1 if options.steps is None else options.steps)
    if files.distributed:
        done = run_files_on_ranks(load_program(program), once, files)
        if done is not None:  # the first rank tells
            output.tell(done, as_json)
        return
    refuse("a run on one process", options, files)
    known = load_run(program, options.steps)
    if isinstance(known, Program):
        report = run_files(known, once, files, output.note)
    else:
        report = server_of(known).run_files(known, once, files, output.note)
    output.tell(report, as_json)
    report.raise_if_wrong()
