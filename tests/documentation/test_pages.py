"""The code of every page runs as it stands and prints what the page shows."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from nasgoat.errors import MissingPackageError
from tests.documentation.page_run import PageRun, blocks_of

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    if any(block.runs for block in blocks_of(page))
]
#: Pages whose code takes five to fourteen seconds; what they show has tests of its own.
LONG = (
    "docs/acquisition-functions.md",
    "docs/extend/kernel.md",
    "docs/extend/optimizer.md",
    "docs/extend/space.md",
    "docs/extend/testing.md",
    "docs/tutorials/error-against-latency.md",
    "docs/tutorials/fidelities.md",
    "docs/tutorials/resume-and-cluster.md",
)


def list_pages() -> list[Any]:
    """The pages with code, the long ones for the slow suite."""
    names = {page: str(page.relative_to(ROOT)) for page in PAGES}
    assert {*LONG} <= {*names.values()}
    return [
        pytest.param(page, id=name, marks=[pytest.mark.slow] * (name in LONG))
        for page, name in names.items()
    ]


@pytest.mark.parametrize("page", list_pages())
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
    except MissingPackageError as missing:
        pytest.skip(str(missing))
    finally:
        for name in set(sys.modules) - before:
            if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def test_the_pages_people_start_with_have_code() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "quickstart.md", "spaces.md"} <= names
