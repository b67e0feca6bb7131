"""The shape of the source tree stays as CONTRIBUTING.md says (benchmarks/house.py measures it)."""

from pathlib import Path

import pytest
from benchmarks.house import House

ROOT = Path(__file__).parents[1]
MOST_SPACE_CHECKS = 5
MOST_LAYOUT_COMPARISONS, MOST_SPACE_CASTS = 13, 10  # as the table says


@pytest.fixture(scope="module")
def house() -> House:
    return House.read(ROOT)


def test_optimisers_ask_a_space_for_its_description_and_not_for_its_class(house: House) -> None:
    assert len(house.list_space_checks()) <= MOST_SPACE_CHECKS, house.list_space_checks()


def test_few_places_outside_spaces_ask_for_a_layout_or_take_a_space_for_another(
    house: House,
) -> None:
    comparisons, casts = house.list_layout_comparisons(), house.list_space_casts()
    assert 0 < len(comparisons) <= MOST_LAYOUT_COMPARISONS, comparisons
    assert 0 < len(casts) <= MOST_SPACE_CASTS, casts


def test_every_exported_name_has_a_docstring(house: House) -> None:
    assert len(house.list_exported_names()) > 100
    assert house.list_undocumented() == []


def test_every_name_of_the_package_itself_has_a_running_example(house: House) -> None:
    assert "nasgoat.search" in house.list_exported_names()
    assert house.list_without_example() == []


def test_nothing_but_the_suites_imports_pytest_or_them(house: House) -> None:
    users = [
        name
        for name, module in house.modules.items()
        if {"pytest", "hypothesis", "nasgoat.testing"} & house.list_imported(module)
    ]
    assert users
    assert all(name.startswith("nasgoat.testing") for name in users), users


def test_a_check_on_a_space_class_is_counted(tmp_path: Path) -> None:
    package = tmp_path / "src" / "nasgoat"
    (package / "spaces").mkdir(parents=True)
    (package / "spaces" / "chain.py").write_text("class ChainSpace:\n    pass\n")
    (package / "search.py").write_text("def f(x):\n    return isinstance(x, ChainSpace | int)\n")
    (package / "costs.py").write_text(
        'a = cast(ChainSpace, x), cast("ChainSpace", x), cast(int, x)\n'
        'b = x.layout == "cell", "list" != x.layout, x.layout not in TABLE, TABLE[x.layout]\n'
        'c = x.layout.style == "layers"\n'
    )
    made = House.read(tmp_path)
    assert made.list_space_checks() == ["nasgoat.search:2"]
    assert made.list_space_casts() == ["nasgoat.costs:1"] * 2
    assert made.list_layout_comparisons() == ["nasgoat.costs:2"] * 3
    assert made.measure(None)["files"] == 3
    assert made.list_public_names() == {
        "nasgoat.search.f": False,
        "nasgoat.spaces.chain.ChainSpace": False,
    }


def test_a_name_taken_from_a_package_is_a_use_of_its_module(tmp_path: Path) -> None:
    package = tmp_path / "src" / "nasgoat"
    (package / "graphs").mkdir(parents=True)
    (package / "graphs" / "__init__.py").write_text("from nasgoat.graphs.batch import Batch\n")
    (package / "graphs" / "batch.py").write_text("class Batch:\n    pass\n")
    (package / "one.py").write_text("from nasgoat.graphs.batch import Batch\n")
    (package / "other.py").write_text("from nasgoat.graphs import Batch\n")
    made = House.read(tmp_path)
    assert made.count_importers()["nasgoat.graphs.batch"] == 1
    assert made.count_importers(through_packages=True)["nasgoat.graphs.batch"] == 2
