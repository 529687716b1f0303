"""What stands beside the package for those who host, cite or report on it agrees with the package."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


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
