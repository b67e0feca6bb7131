r"""MkDocs hook: formulas become MathML when the site is built; no script, no network.

``pymdownx.arithmatex`` finds ``$...$`` and ``$$...$$`` and leaves them in elements of its own;
latex2mathml turns their contents into MathML, which every current browser shows. What it does not
understand it would pass through as text: that is an error here.
"""

import html
import re

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

_FOUND = re.compile(r'<(span|div) class="arithmatex">(\\[(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
#: Letters that MathML Core has as characters, not as a style.
_BOLD_ONE = "\U0001d7cf"


def on_page_content(html: str, **_: object) -> str:
    """Convert every formula of a page."""
    return _FOUND.sub(lambda match: _element(match[3], match[2] == r"\["), html)


def _element(source: str, block: bool) -> str:
    formula = mathml(html.unescape(source).strip(), block)
    return f'<div class="formula">{formula}</div>' if block else formula


def mathml(latex: str, block: bool = False) -> str:
    """A formula as MathML.

    Raises:
        PluginError: If a command or an environment is not known.
    """
    found = convert(latex, display="block" if block else "inline")
    found = found.replace('<mn mathvariant="bold">1</mn>', f"<mi>{_BOLD_ONE}</mi>")
    if unknown := re.search(r">(\\[A-Za-z]+|&)<", found):
        raise PluginError(f"a formula must be known to latex2mathml, got {unknown[1]} in {latex}")
    return found
