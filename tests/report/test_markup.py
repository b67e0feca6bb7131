"""Markup: whatever a text holds, it stays a text."""

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from nasgoat.figures.wording import cut
from nasgoat.report.markup import Html, element, escape, join

TEXTS = st.text(st.characters(exclude_categories=()), max_size=40)


@given(TEXTS)
def test_any_text_comes_back_as_text(text: str) -> None:
    read = ET.fromstring(element("p", text, title=text))  # noqa: S314
    assert len(read) == 0
    kept = "".join(c for c in text if c.isprintable())
    assert all(c in (read.text or "") for c in kept)


@given(TEXTS)
def test_any_text_can_be_written(text: str) -> None:
    written = escape(text)
    written.encode("utf-8")
    assert not set(written) & {"<", ">", '"', "'", "\x00", "\u202e", "\r"}


def test_markup_is_not_escaped_again() -> None:
    assert element("p", element("b", "<"), "<") == "<p><b>&lt;</b>&lt;</p>"
    assert join(Html("<br/>"), None, 3, 0.25, ["a", "&"]) == "<br/>30.2a&amp;"


def test_attributes_that_are_off_are_left_out() -> None:
    assert element("p", hidden=False, title=None, class_="x") == '<p class="x"></p>'


def test_a_rounded_coordinate_never_reads_minus_nothing() -> None:
    assert element("rect", x=-0.04, y=-0.26, width=10.0) == (
        '<rect x="0" y="-0.3" width="10"></rect>'
    )


def test_a_long_text_is_cut() -> None:
    assert cut("x" * 10_000, 20) == "x" * 19 + "…"
