"""Tables that the README and the site both show say the same."""

from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]


def tables(page: Path) -> dict[str, list[str]]:
    """The rows of each table by its head."""
    found: dict[str, list[str]] = {}
    lines = page.read_text(encoding="utf-8").split("\n")
    for head, ruler in pairwise(lines):
        if head.startswith("|") and ruler.startswith("|---"):
            rows = found.setdefault(head, [])
            for line in lines[lines.index(head) + 2 :]:
                if not line.startswith("|"):
                    break
                rows.append(line)
    return found


def test_measured_tables_are_the_same_on_the_site_and_in_the_readme() -> None:
    readme, site = tables(ROOT / "README.md"), tables(ROOT / "docs" / "benchmarks.md")
    both = set(readme) & set(site)
    assert len(both) >= 2  # the comparison, and speed
    for head in both:
        assert readme[head] == site[head]


def test_the_errors_of_real_trainings_in_the_readme_are_those_of_the_table() -> None:
    table = tables(ROOT / "docs" / "benchmarks.md")["| | validation error % | test error % |"]
    medians = {row.split("|")[1].strip(): row.split("|")[2].split()[0] for row in table}
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    ours, random = medians["nasgoat"], medians["random search"]
    assert f"of ten seeds is {ours} %, against {random} % of random search" in readme
