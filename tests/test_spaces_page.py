"""The examples of docs/spaces.md run, and its TOML declares a space."""

import doctest
import re
from pathlib import Path

from nasgoat.spaces import parse_space

PAGE = Path(__file__).parents[1] / "docs" / "spaces.md"


def test_the_examples_of_the_page_run() -> None:
    flags = doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert result.attempted > 5
    assert result.failed == 0


def test_the_declaration_of_the_page_is_read() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert [limit.name for limit in parse_space(blocks[0]).limits] == ["budget", "shallow"]
