"""MkDocs hook: the overview stands in the page itself, so that it follows the page's colours.

Both arrangements are there; the style sheet shows the one that fits the page's width.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "images"
_IMAGE = re.compile(r'<img alt="[^"]*" src="[^"]*overview\.svg" ?/?>')


def on_page_content(html: str, **_: object) -> str:
    """Replace the image by its source."""
    files = ("overview.svg", "overview-tall.svg")
    return _IMAGE.sub(lambda _: "".join((FOLDER / file).read_text("utf-8") for file in files), html)
