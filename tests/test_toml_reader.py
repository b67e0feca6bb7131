"""The reader of TOML: where keys stand, what tables become, and one line for whatever is wrong."""

from dataclasses import dataclass

import pytest

from nasgoat.errors import FileError, SettingError
from nasgoat.toml_reader import FINITE, TEXT, WHOLE, TomlDocument, find_key_lines, list_of


@dataclass(frozen=True)
class Recipe:
    name: str
    eggs: int = 0

    def __post_init__(self) -> None:
        if self.eggs < 0:
            raise SettingError(f"the number of eggs must be positive, got {self.eggs}")


def read(text: str) -> Recipe:
    document = TomlDocument("r", text, FileError)
    content = document.read(("recipe",), {"name": TEXT, "eggs": WHOLE})
    return document.build(Recipe, ("recipe",), content)


def test_a_table_becomes_a_dataclass() -> None:
    assert read('[recipe]\nname = "cake"\neggs = 3') == Recipe("cake", 3)
    assert read('recipe.name = "tea"') == Recipe("tea")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[recipe]\neggs = 3", "r:1: recipe must have the key name, got none"),
        ("recipe = 3", "r:1: recipe must be a table, got 3"),
        ("[recipe]\nname = 3", "r:2: recipe.name must be text, got 3"),
        ("[recipe]\nname = '''\na'''\neggs = -1", "r:4: recipe.eggs: the number of eggs must be"),
        ("[recipe]\negs = 3", "r:2: recipe.egs must be one of eggs, name, .* did you mean eggs"),
        (f"[recipe]\nname = {'9' * 4000}", "r:2: recipe.name must be text, got a huge number"),
        (f"[recipe]\nname = ['{'x' * 99}']", "r:2: recipe.name must be text, got .{59}…$"),
        ("[recipe\n", "r:1: must be TOML"),
        ("a = " + "[" * 9999, "r:1: must not be nested so deeply"),
    ],
)
def test_whatever_is_wrong_is_one_line(text: str, said: str) -> None:
    with pytest.raises(FileError, match=said) as caught:
        read(text)
    assert "\n" not in str(caught.value)


def test_lines_of_keys_in_spite_of_strings_brackets_and_quotes() -> None:
    text = '''"a.b" = """
c = 1 # no key
"""
d = [ # [e]
  "f = 2",
]
[g."0>3"] # a comment
h = {i = 1}
'''
    assert find_key_lines(text) == {("a.b",): 1, ("d",): 4, ("g", "0>3"): 7, ("g", "0>3", "h"): 8}


@pytest.mark.parametrize(
    ("value", "finite"),
    [(1, True), (-2.5, True), (True, False), (float("nan"), False), (10**400, False), ("1", False)],
)
def test_finite_numbers(value: object, finite: bool) -> None:
    assert FINITE.holds(value) is finite
    assert list_of(FINITE, "numbers").holds([1.0, value]) is finite
