"""MkDocs hook: pages that follow from files which are there anyway.

- every record in ``docs/decisions`` enters the navigation, with a page that lists them;
- ``CONTRIBUTING.md`` and ``CHANGELOG.md`` of the project's root become pages.
"""

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"
PAGES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}


def on_config(config: MkDocsConfig) -> None:
    """Replace the entry of the decisions by all of them."""
    records = [f"decisions/{name}" for name in decision_titles()]
    config.nav = _replaced(config.nav or [], "decisions/index.md", records)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages that are written here."""
    files.append(File.generated(config, "decisions/index.md", content=decisions_page()))
    for page, source in PAGES.items():
        # Links of the root's files begin with docs/; those of the pages are relative to docs.
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))


def decision_titles() -> dict[str, str]:
    """File names of the decisions in their order, with their titles."""
    paths = sorted(DECISIONS.glob("*.md"))
    heads = {path.name: path.read_text(encoding="utf-8").split("\n", 1)[0] for path in paths}
    return {name: head.removeprefix("# ") for name, head in heads.items()}


def decisions_page() -> str:
    """The list of decisions."""
    lines = [f"- [{title}]({name})" for name, title in decision_titles().items()]
    head = "# Decisions\n\nWhat was decided, why, and what was measured.\n"
    return "\n".join([head, *lines, ""])


def _replaced(nav: list[Any], page: str, pages: list[str]) -> list[Any]:
    """The navigation with the entry of one page turned into a section: it, then the others."""
    found: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            title, value = next(iter(entry.items()))
            if isinstance(value, list):
                value = _replaced(value, page, pages)
            elif value == page:
                value = [page, *pages]
            entry = {title: value}
        found.append(entry)
    return found
