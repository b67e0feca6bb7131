"""What the tests ask of a report's HTML."""

import itertools
import re
import xml.etree.ElementTree as ET


def parsed(html: str) -> ET.Element:
    """The document, read by a parser that forgives nothing."""
    first, rest = html.split("\n", 1)
    assert first == "<!DOCTYPE html>"
    return ET.fromstring(rest.replace(' xmlns="http://www.w3.org/1999/xhtml"', ""))  # noqa: S314


def assert_sound(html: str) -> ET.Element:
    """What holds of every report: structure, names, and no way to the network."""
    page = parsed(html)
    levels = [int(part.tag[1]) for part in page.iter() if re.fullmatch("h[1-6]", part.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    ids = [str(part.get("id")) for part in page.iter() if part.get("id")]
    assert len(ids) == len(set(ids))
    for part in page.iter():
        _assert_names_exist(part, set(ids))
        _assert_asks_for_nothing(part)
    for part in page.iter("th"):
        assert part.get("scope") in ("col", "row")
    for part in page.iter("svg"):
        if part.get("aria-hidden") != "true":
            assert part.get("role") == "img"
    for name in ("header", "main", "footer", "title"):
        assert len(list(page.iter(name))) >= 1
    assert page.get("lang") == "en"
    return page


def _assert_names_exist(part: ET.Element, ids: set[str]) -> None:
    for name in str(part.get("aria-labelledby") or "").split():
        assert name in ids
    link = part.get("href")
    if link is not None and link.startswith("#"):
        assert link[1:] in ids
    if part.get("role") == "region":
        assert part.get("aria-label")
        assert part.get("tabindex") == "0"


def _assert_asks_for_nothing(part: ET.Element) -> None:
    assert part.get("src") is None
    assert not any(name.startswith("on") for name in part.attrib)
    assert part.get("style") is None
    link = part.get("href")
    if link is not None:
        assert link.startswith(("#", "data:image/svg+xml,"))
    assert part.tag not in ("iframe", "object", "embed", "img", "form", "base", "foreignObject")
