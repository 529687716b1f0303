"""What README and the documentation show works as it is written there."""

import difflib
import doctest
import importlib
import importlib.util
import re
import runpy
import shlex
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tilewright
from tilewright.cli.app import KEYS, app
from tilewright.machines import files as machine_files
from tilewright.sparse.petsc import Plugin

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WHOLE = ("tilewright.verbs.operators", "tilewright.sparse.krylov", "tilewright.base.errors")
LINE = r"python3 -m venv \.venv && \.venv/bin/pip install .+"


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


DERIVATIONS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "derivations").glob("[!i]*.md"))
FOLLOWED = ("tutorial", "pipelines", "howto", "points", "places", "waves", "gradients", "numerics", "sums")
PAGES = ["README.md", *(f"docs/{name}.md" for name in FOLLOWED), *DERIVATIONS]
ELSEWHERE = ("docs/extending.md", "docs/sparse.md")
"""Pages whose commands need a changed package, see ``test_extending.py``, or PETSc."""


@pytest.fixture
def stands(request):
    """Compare what a block of a page shows with what is printed, or write it with ``--update-golden``."""

    def compare(document, before, shown, printed):
        printed = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
        same = doctest.OutputChecker().check_output(shown, printed, 0)
        if not same and request.config.getoption("--update-golden"):
            text = (ROOT / document).read_text(encoding="utf-8")
            assert before + shown in text
            (ROOT / document).write_text(text.replace(before + shown, before + printed, 1), encoding="utf-8")
            return
        lines = difflib.unified_diff(shown.splitlines(), printed.splitlines(), document, "printed", lineterm="")
        hint = "if that is meant, run: pytest tests/verbs/test_documents.py --update-golden"
        assert same, "\n".join([*lines, "", hint])

    return compare


@pytest.mark.parametrize("document", PAGES)
def test_the_python_of_a_page_prints_what_stands_below_it(document, monkeypatch, tmp_path, capsys, stands):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert any(language == "python" for language, _ in blocks)
    printed, names = "", {"__name__": "example"}
    for language, block in blocks:
        if language == "python":
            exec(compile(block, document, "exec"), names)  # noqa: S102  (our own documentation)
            printed = capsys.readouterr().out
        elif language == "text":
            stands(document, f"```{language}\n", block, printed)
            printed = ""


SOURCES = runpy.run_path(str(ROOT / "docs" / "sources.py"), run_name="sources")
STOPS = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def stops():
    """The page of the ten stops as the site shows it, by the heads of its sections."""
    sections = re.split(r"^## ", SOURCES["executed"](STOPS), flags=re.MULTILINE)
    return {section.partition("\n")[0]: section for section in sections[1:]}


def test_every_stop_from_python_to_machine_code_shows_values_and_names_where_they_are_made(stops):
    numbered = [section for head, section in stops.items() if re.match(r"\d+\. ", head)]
    assert [int(section.partition(".")[0]) for section in numbered] == list(range(1, 11))
    for section in numbered:
        assert re.search(r"^\*In `[\w.]+` of `src/tilewright/[\w/]+\.py`", section, flags=re.MULTILINE), section[:40]
        assert re.search(r"^```(?:text|c)\n(?!```)", section, flags=re.MULTILINE), section[:40]


@pytest.mark.parametrize(
    ("stop", "value"),
    [
        ("1. Expression", "9 Apply(op='add', args=(0, 8))"),
        ("2. Problem", "memory 1 (-1,)"),
        ("3. Price", "streaming beats none by "),
        ("4. Plan", "hexagonal:t=64,s=1024 | asked | 1 row"),
        ("5. Intermediate representation", "        Call heat_box_0\n"),
        ("6. C text", "#pragma omp for schedule(dynamic, 1)"),
        ("7. Artifact", " bytes, b'"),
        ("8. Kernel call", "CpuKernel tw_heat_"),
        ("9. Engine", "tilewright.verbs.running.grids.memory Memory"),
    ],
)
def test_a_stop_shows_its_value(stops, stop, value):
    assert value in stops[stop]


def test_the_last_stop_agrees_with_the_reference(stops):
    differences = re.findall(r"^largest difference from \w+: (\S+)$", stops["10. Result"], flags=re.MULTILINE)
    assert len(differences) == 2
    assert all(float(each) < 1e-5 for each in differences)


@pytest.mark.parametrize("name", ["tilewright.tracing.no_such", "tilewright.driver.plans", "tilewright.nowhere.trace"])
def test_a_page_does_not_name_what_is_elsewhere_or_gone(name):
    with pytest.raises((AttributeError, LookupError)):
        SOURCES["place"](name)


def test_pages_quote_functions_of_this_version():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    quoted, asked, function = SOURCES["quoted"](page), page.count("<!-- source:"), "\n```python\ndef "
    assert "<!-- source:" not in quoted
    assert asked >= 4
    assert quoted.count(function) == page.count(function) + asked


LANGUAGES = {"bash", "c", "console", "py", "python", "sh", "text", "toml"}
OUTPUT = r"^\$ (.+)\n((?:(?!\$ ).*\n)*)"
"""A command of a console block, and what is shown below it."""
CONSOLES = [
    (path.relative_to(ROOT).as_posix(), command, shown)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for block in _blocks(path.read_text(encoding="utf-8"), "console")
    for command, shown in re.findall(OUTPUT, block, flags=re.MULTILINE)
    if shown
]
"""Every command of README and the pages whose output is shown: page, command, output."""


@pytest.mark.parametrize(
    ("document", "command", "shown"),
    [each for each in CONSOLES if each[0] not in ELSEWHERE],
    ids=[f"{page}: {command}" for page, command, _ in CONSOLES if page not in ELSEWHERE],
)
def test_a_command_of_a_page_prints_what_stands_below_it(
    document, command, shown, monkeypatch, tmp_path, capsys, stands
):
    monkeypatch.chdir(tmp_path)
    stands(document, f"$ {command}\n", shown, _printed(command, capsys))


def test_the_page_of_petsc_shows_the_options_that_are_printed():
    plugin = Plugin(library="…/libseqdia.so", petsc="3.18.0", compiler="cc", dtype="float64")
    shown = [(command, text) for document, command, text in CONSOLES if document == "docs/sparse.md"]
    assert shown == [("tilewright petsc", f"{' '.join(plugin.options)}\n")]


def test_all_that_pages_show_as_output_is_run():
    """In console blocks below a command, or in text below Python; a block of neither would be run by nothing."""
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        text, document = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
        fences = re.findall(r"^```(.*)\n", text, flags=re.MULTILINE)
        assert all(fences[::2]), f"{document}: a block without a language"
        assert not any(fences[1::2]), document
        assert document in PAGES or "text" not in fences, document
        assert {fence.split()[0] for fence in fences[::2]} <= LANGUAGES, document
    assert {document for document, _, _ in CONSOLES if document in ELSEWHERE} == set(ELSEWHERE)


def test_readme_has_one_line_that_runs_and_one_that_tests():
    lines = [block.strip() for block in _blocks(README, "bash") if re.fullmatch(LINE, block.strip())]
    assert len(lines) == 2
    assert ".venv/bin/tilewright run heat2d --shape 2048x2048 --steps 256 --check" in lines[0]
    assert lines[1].endswith(".venv/bin/pytest -n auto --dist worksteal")


def test_ci_calls_the_test_line_of_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "grep -m1 -F '.venv/bin/pytest' README.md" in script
    assert README.count(".venv/bin/pytest") == 1


def _printed(line: str, capsys) -> str:
    """Run a command of tilewright and return what it prints."""
    name, *arguments = shlex.split(line)
    assert name == "tilewright"
    with pytest.raises(SystemExit) as ended:
        app(arguments, prog_name=name)
    captured = capsys.readouterr()
    assert not ended.value.code, (line, captured.err)
    return captured.out


SMALLER = {
    r"--shape \d\S*x\d+": "--shape 64x64",
    "--machine h200": "--machine gtx980",  # for which fewer tilings are legal
    "--area 400:420": "--area 100:900",
    "tilewright codesign": "tilewright codesign --axis sm=16 --axis width=64,128",
    r"--seconds \d+": "--seconds 300 --runs 2",
}
"""Sizes in place of those of a page where all that is asked is that its command runs.

What annotate may take is all that it takes, compiling included: a busy machine needs more than it looks.
"""


def _ran(line: str, capsys) -> str:
    """Run a command of a page with smaller sizes."""
    for size, smaller in SMALLER.items():
        line = re.sub(size, smaller, line)
    return _printed(line, capsys)


def test_readme_begins_with_a_result_a_speed_and_a_reason():
    first = README[: README.index("## ")]
    assert re.findall(r"^!\[.+\]\(docs/images/(\w+\.png)\)$", first, flags=re.MULTILINE) == ["results.png", "speed.png"]
    assert ".reasons()" in first
    assert "Two threads for each; only tilewright tiles time." in first


ROW = r"^\| ([^|]+) \| \[[1-4]\] [^|]+ \| `([^`]+)` \| \[[^]]+\]\((docs/[^)]+)\) \|$"
WORKFLOWS = re.findall(ROW, README, flags=re.MULTILINE)
"""The papers' workflows: what, its first command, its page."""


@pytest.mark.parametrize(("workflow", "line", "page"), WORKFLOWS, ids=[what for what, _, _ in WORKFLOWS])
def test_the_first_command_of_a_workflow_runs_as_pasted(workflow, line, page, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples" / "annotated", tmp_path / "examples" / "annotated")
    if line.startswith("python -c "):
        (code,) = shlex.split(line)[2:]
        exec(compile(code, workflow, "exec"), {"__name__": "__main__"})  # noqa: S102  (our own documentation)
        assert capsys.readouterr().out
    else:
        assert _ran(line, capsys)
    file, _, anchor = page.partition("#")
    heads = re.findall(r"^#+ (.+)$", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert not anchor or anchor in {head.lower().replace(" ", "-") for head in heads}


def test_the_navigation_starts_with_the_workflows_of_readme():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:")[2]
    listed = nav.partition("- The papers' workflows:")[2].partition("\n  - ")[0]
    named = dict.fromkeys(page.removeprefix("docs/").partition("#")[0] for _, _, page in WORKFLOWS)
    assert re.findall(r": (\S+\.md)$", listed, flags=re.MULTILINE) == [*named, "experiments.md"]
    assert len(WORKFLOWS) == 10


def test_readme_is_short():
    assert len(README.splitlines()) < 200


def test_the_commands_of_readme_run(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    (block,) = [block for block in _blocks(README, "bash") if block.startswith("tilewright run")]
    lines = [part.strip() for line in block.splitlines() for part in line.partition("#")[0].split(";")]
    assert len(lines) == 12
    for line in lines:
        _ran(line, capsys)
    with Image.open("soft.png") as picture:
        assert picture.size == (320, 240)
    before, after = np.load("examples/data/u.npy"), np.load("v.npy")
    assert 0 < after.max() < 0.5 * before.max()
    assert Path("hybrid.svg").exists()


ELSEWHERE_RUN = ("$SLURM_CPUS_PER_TASK", "./ex2", "python3 -m venv")
"""In commands that need a cluster, PETSc or an empty environment."""
SHELL = [
    (page, block)
    for page in ("docs/tutorial.md", "docs/howto.md")
    for block in _blocks((ROOT / page).read_text(encoding="utf-8"), "bash")
    if not any(word in block for word in ELSEWHERE_RUN)
]


@pytest.mark.parametrize(("page", "block"), SHELL, ids=[f"{page}: {block.splitlines()[0]}" for page, block in SHELL])
def test_the_commands_of_the_tutorial_and_the_recipes_run(page, block, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    mine = machine_files.to_toml(machine_files.load("gtx980"))  # as the Python of the page writes it
    Path("mine.toml").write_text(mine, encoding="utf-8")
    for line in block.splitlines():
        command, _, target = line.partition("#")[0].partition(" > ")
        if command.startswith("tilewright tune "):
            command += " --effort none"  # measurements are tested elsewhere
        printed = _ran(command, capsys)
        if target:
            Path(target.strip()).write_text(printed, encoding="utf-8")


def test_the_settings_page_has_every_setting():
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`--([a-z]+)` \| `TILEWRIGHT", page)) == set(KEYS)
    assert {name.lower() for name in re.findall(r"\| `TILEWRIGHT_([A-Z]+)`", page)} == set(KEYS)


def test_the_reference_has_every_public_name():
    """As a name of its own, or as a member of a module that is there as a whole."""
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    shown = re.findall(r"^::: (\S+)", page, flags=re.MULTILINE)
    for path in shown:
        module, _, name = path.rpartition(".")
        found = importlib.util.find_spec(path) if path in WHOLE else getattr(importlib.import_module(module), name)
        assert found is not None, path
    homes = {name: f"{module}.{name}" for module, names in tilewright._HOMES.items() for name in names}
    missing = [n for n, path in homes.items() if path not in shown and path.rpartition(".")[0] not in WHOLE]
    assert missing == []
    assert set(tilewright.__all__) - set(homes) == {"chain", "distributed", "image", "sparse", "waves", "__version__"}


OPTIONAL = ("tilewright.torch", "tilewright.pypde")
"""Modules over packages that no test installs."""


def _names_something(dotted: str) -> bool:
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        with suppress(ModuleNotFoundError):
            if ".".join(parts[:end]) in OPTIONAL:
                source = Path(importlib.util.find_spec(".".join(parts[:end])).origin).read_text(encoding="utf-8")
                return all(re.search(rf"^(?:def|class) {name}\b", source, flags=re.MULTILINE) for name in parts[end:])
            found = importlib.import_module(".".join(parts[:end]))
            for name in parts[end:]:
                found = getattr(found, name, None)
            return found is not None
    return False


def test_modules_and_paths_that_the_documents_name_exist():
    of_root = sorted({*ROOT.glob("*.md")} - {ROOT / "CHANGELOG.md"})  # which names what is gone
    for path in [*of_root, *(ROOT / "docs").rglob("*.md")]:
        text = path.read_text(encoding="utf-8")
        text = re.sub(r'^```\w+ title="src/.*?^```', "", text, flags=re.MULTILINE | re.DOTALL)  # what a page adds
        names = {name for name in re.findall(r"\btilewright(?:\.[A-Za-z_]\w*)+", text) if name != "tilewright.toml"}
        assert not [name for name in sorted(names) if not _names_something(name)], path.name
        files = re.findall(r"(?<![\w./])(?:src/tilewright|tests|benchmarks|docs|examples)/[\w/-]+\.py\b", text)
        assert not [name for name in sorted(set(files)) if not (ROOT / name).exists()], path.name


def test_links_between_the_documents_exist():
    """In the repository as well: what only the site has is no link."""
    for path in [*ROOT.glob("*.md"), ROOT / "reproduce" / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert link.startswith("https://") or (path.parent / link).exists(), f"{path.name}: {link}"


def test_the_gallery_shows_the_examples_as_they_are():
    made = runpy.run_path(str(ROOT / "docs" / "gallery.py"), run_name="gallery")
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](), "python docs/gallery.py writes it anew"
    pictures = {path.stem for path in (ROOT / "docs" / "images" / "gallery").glob("*.png")}
    assert pictures == {path.stem for path in made["EXAMPLES"]}
