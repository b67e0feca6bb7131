"""CITATION.cff is valid CFF 1.2.0 and says the package's version."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
#: What CFF 1.2.0 requires, and what it allows beyond that (its schema guide, "Valid keys").
REQUIRED = {"authors", "cff-version", "message", "title"}
ALLOWED = {
    "abstract", "commit", "contact", "date-released", "doi", "identifiers", "keywords", "license",
    "license-url", "preferred-citation", "references", "repository", "repository-artifact",
    "repository-code", "type", "url", "version",
}  # fmt: skip


def test_the_required_keys_are_there_and_no_unknown_ones() -> None:
    assert set(CITATION) >= REQUIRED
    assert set(CITATION) <= REQUIRED | ALLOWED
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["type"] == "software"


def test_version_and_licence_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert CITATION["version"] == project["version"]
    assert CITATION["license"] == project["license"]


def test_the_paper_is_cited_with_its_authors() -> None:
    paper = CITATION["references"][0]
    assert {"type", "title", "authors"} <= set(paper)
    names = [author["family-names"] for author in paper["authors"]]
    assert names == ["Xie", "Zhang", "Qing", "Misener", "Tsay"]
    assert paper["title"].startswith("Global optimization of graph acquisition functions")
