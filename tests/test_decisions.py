"""Decision records have one layout, a number each, and a line in their index."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
DATE = r"\d{4}-\d\d-\d\d"
SUPERSEDED = r"superseded by \[\d{4}\]\((\d{4}-[a-z-]+\.md)\)"
STATUS = rf"Date: ({DATE})(?:, revised ({DATE}))?\. Status: (?:accepted|{SUPERSEDED})(?:[;.] .+)?\."
HEADINGS = ["Decision", "Why", "Weighed against it", "Consequences"]


def test_a_number_is_given_once():
    numbers = [path.name[:4] for path in RECORDS]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_has_date_status_and_the_four_sections(path):
    title, _, status, *rest = path.read_text(encoding="utf-8").splitlines()
    assert title.startswith(f"# {path.name[:4]} ")
    written, revised, successor = re.fullmatch(STATUS, status).groups()
    assert revised is None or written <= revised
    assert successor is None or (FOLDER / successor).exists()
    assert [line.removeprefix("## ") for line in rest if line.startswith("## ")] == HEADINGS
    assert all(re.search(r"\w", part) for part in re.split(r"^## .*$", "\n".join(rest), flags=re.MULTILINE)[1:])


def test_the_index_and_the_site_list_every_record_once():
    names = [path.name for path in RECORDS]
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^- \[\d{4} [^\]]+\]\((\d{4}-[a-z-]+\.md)\): .+", index, flags=re.MULTILINE)) == names
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.findall(r"decisions/(\d{4}-[a-z-]+\.md)", site) == names


def test_links_to_records_show_their_numbers():
    for page in (ROOT / "docs").rglob("*.md"):
        links = re.findall(
            r"\[(?:[Dd]ecision )?(\d{4})[^\]]*\]\([^)]*?(\d{4})-[a-z-]+\.md", page.read_text(encoding="utf-8")
        )
        assert all(shown == number for shown, number in links), page


def test_records_that_the_code_names_exist():
    numbers = {path.name[:4] for path in RECORDS}
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        found = re.findall(r"\bdecision (\d{4})\b", path.read_text(encoding="utf-8"))
        assert set(found) <= numbers, path
