"""Griffe extension: docstrings as the site shows them.

The docstrings are Google style with Sphinx roles and one ``Example:``. Griffe knows ``Examples:``
and Markdown: roles become links to the reference, or code where there is nothing to link to.
Constants are described by ``#:`` above them.
"""

import re
from pathlib import Path
from typing import Any

from docs.site.reference_pages import comment_above, link_roles
from griffe import Attribute, Docstring, Extension, Object


class Docstrings(Extension):
    """Changes docstrings after they were read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = self.shown(obj.docstring.value)

    def on_attribute(self, *, attr: Attribute, **_: Any) -> None:
        """Give a constant the comment above it."""
        if attr.docstring is None and attr.lineno and isinstance(attr.filepath, Path):
            above = comment_above(attr.filepath.read_text(encoding="utf-8"), attr.lineno)
            if above:
                attr.docstring = Docstring(link_roles(above), parent=attr)

    def shown(self, text: str) -> str:
        """A docstring with links for roles and with the section name that griffe knows."""
        return link_roles(re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE))
