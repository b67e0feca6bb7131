"""The code of every page runs as it stands and prints what the page shows."""

import os
import sys
from pathlib import Path

import pytest

from tests.documentation.page_run import PageRun, blocks_of

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    if any(block.runs for block in blocks_of(page))
]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_code_of_the_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    # As in an environment that is activated: `python` is the one that runs the tests.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    before = set(sys.modules)
    run = PageRun(tmp_path)
    try:
        for block in blocks_of(page):
            run.run(block)
    finally:
        for name in set(sys.modules) - before:
            if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def test_the_pages_people_start_with_have_code() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "quickstart.md", "spaces.md"} <= names
