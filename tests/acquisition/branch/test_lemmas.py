"""The page with the proofs and the code name the same lemmas."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "branch-and-bound.md"
CODE = ROOT / "src" / "nasgoat" / "acquisition" / "branch"


def lemmas_named(text: str) -> set[int]:
    """Numbers after "Lemma" and "Lemmas", ranges included."""
    found: set[int] = set()
    for first, word, last in re.findall(r"Lemmas? (\d+)(?: (and|to) (\d+))?", text):
        low, high = int(first), int(last or first)
        found |= set(range(low, high + 1)) if word == "to" else {low, high}
    return found


def test_lemmas_are_numbered_in_reading_order() -> None:
    numbers = [int(number) for number in re.findall(r"\*\*Lemma (\d+)", PAGE.read_text())]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_lemma_is_named_in_the_code_and_every_name_is_a_lemma() -> None:
    proven = {int(number) for number in re.findall(r"\*\*Lemma (\d+)", PAGE.read_text())}
    named = set().union(*(lemmas_named(path.read_text()) for path in CODE.glob("*.py")))
    assert named == proven
    assert lemmas_named(PAGE.read_text()) == proven
