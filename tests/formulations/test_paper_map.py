"""docs/paper-map.md names every tag, with a function and a test that exist."""

import importlib
import re
from pathlib import Path

import pytest

from nasgoat.formulations.tagged_model import TAGS

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `([^`]+)` \| .* \| `([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "paper-map.md").read_text())


def test_every_tag_is_on_the_map() -> None:
    assert {tag for tag, _, _ in ROWS} == {*TAGS, "Graph-Encoding"}


@pytest.mark.parametrize(("tag", "function", "test"), ROWS)
def test_each_tag_has_a_function_and_a_test(tag: str, function: str, test: str) -> None:
    module, name = function.rsplit(".", 1)
    stated = getattr(importlib.import_module(module), name)
    path, wanted = test.split("::")
    assert f"def {wanted}(" in (ROOT / path).read_text()
    said = (stated.__doc__ or "").replace("(Acq-Opt)", "(Acq_Opt)")
    assert f"({tag})" in said


def test_linked_pages_exist() -> None:
    page = (ROOT / "docs" / "paper-map.md").read_text()
    links = re.findall(r"\]\((decisions/[^)]+)\)", page)
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
