"""Links of the files in the project's root lead somewhere; the strict build checks the others."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_relative_links_exist(page: str) -> None:
    links = LINK.findall((ROOT / page).read_text(encoding="utf-8"))
    relative = [link for link in links if "://" not in link]
    assert [link for link in relative if not (ROOT / link).exists()] == []
