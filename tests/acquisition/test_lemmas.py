"""The pages with the proofs and the code name the same lemmas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ACQUISITION = ROOT / "src" / "nasgoat" / "acquisition"
#: Pages with proofs, and the files that implement them.
PROOFS = {
    "branch-and-bound.md": sorted((ACQUISITION / "branch").rglob("*.py")),
    "acquisition-functions.md": sorted(ACQUISITION.glob("*.py")),
}


def lemmas_named(text: str) -> set[int]:
    """Numbers after "Lemma" and "Lemmas", ranges included."""
    found: set[int] = set()
    for first, word, last in re.findall(r"Lemmas? (\d+)(?: (and|to) (\d+))?", text):
        low, high = int(first), int(last or first)
        found |= set(range(low, high + 1)) if word == "to" else {low, high}
    return found


def lemmas_proven(page: str) -> list[int]:
    text = (ROOT / "docs" / page).read_text()
    return [int(number) for number in re.findall(r"\*\*Lemma (\d+)", text)]


@pytest.mark.parametrize("page", PROOFS)
def test_lemmas_are_numbered_in_reading_order(page: str) -> None:
    numbers = lemmas_proven(page)
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 5


@pytest.mark.parametrize("page", PROOFS)
def test_every_lemma_is_named_in_the_code_and_every_name_is_a_lemma(page: str) -> None:
    named = set().union(*(lemmas_named(path.read_text()) for path in PROOFS[page]))
    assert named == set(lemmas_proven(page))
    assert lemmas_named((ROOT / "docs" / page).read_text()) == named
