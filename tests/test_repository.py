"""What stands beside the package for those who host, cite or report on it agrees with the package."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_hosted_ci_runs_the_script_in_every_version_that_is_promised():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    promised = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if ":: Python :: 3." in each]
    assert job["strategy"]["matrix"]["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"
    assert workflow["permissions"] == {"contents": "read"}
    assert "permissions" not in job
    assert workflow["concurrency"]["cancel-in-progress"] is True
    *_, last = job["steps"]
    assert last == {"run": "bash .ci/run", "env": {"PYTHON": "python${{ matrix.python }}"}}
    assert "${PYTHON:-python3} " in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_citation_says_what_the_package_says_of_itself():
    assert {"cff-version", "message", "title", "authors"} <= CITATION.keys()  # what the format demands
    assert CITATION["title"] == PROJECT["name"]
    assert CITATION["abstract"] == PROJECT["description"]
    assert CITATION["license"] == PROJECT["license"]
    assert CITATION["authors"] == PROJECT["authors"]
    assert CITATION["keywords"] == PROJECT["keywords"]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_readme_names_a_work_with_its_pages_and_the_commands_that_show_it(number):
    work = CITATION["references"][number - 1]
    names = [author["family-names"] for author in work["authors"]]
    (item,) = re.findall(rf"^- \[{number}\] (.+\n(?:  .+\n)*)", README, flags=re.MULTILINE)
    said = " ".join(item.split())
    assert f"*{work['title']}*".lower() in said.lower()
    assert all(each in said for each in [*names, str(work.get("year", "")), work.get("doi", "")])
    pages = set(re.findall(r"\]\((docs/\w+\.md)\)", said))
    rows = re.findall(rf"^\|[^|]+\| \[{number}\] {names[0]}\b.+\((docs/\w+\.md)", README, flags=re.MULTILINE)
    assert pages == set(rows)


SOURCE = {
    path.relative_to(ROOT / "src" / "tilewright").as_posix(): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "src" / "tilewright").rglob("*.py"))
}


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        (r"(?:pickle|dill|marshal|joblib|torch)\.loads?\(", ["runtime/workers/pool.py", "runtime/workers/worker.py"]),
        (r"allow_pickle=True", []),
        (r"(?<![\w.])(?:eval|exec|compile|__import__)\(", []),
        (r"\.exec_module\(", ["verbs/load.py"]),
        (r"shell=True|os\.(?:system|popen)\(|getoutput\(", []),
        (r"\"(?:/\w+)*/sh\"", ["runtime/toolchains/cpu.py"]),
        (r"^\s*(?:import|from) (?:socket|ssl|urllib|http|ftplib|smtplib|xmlrpc|requests)\b", []),
    ],
)
def test_only_the_files_that_the_page_on_security_knows_run_what_they_read(pattern, files):
    assert len(SOURCE) > 300
    assert [name for name, text in SOURCE.items() if re.search(pattern, text, flags=re.MULTILINE)] == files


def test_the_page_on_security_names_tests_that_exist():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert len(named) >= 5
    assert not [each for each in named if not (ROOT / each).exists()]
