"""Griffe extension: docstrings as the site shows them.

The docstrings are Google style with Sphinx roles and one ``Example:``. Griffe knows ``Examples:``
and Markdown: roles become links to the reference, or code where there is nothing to link to.
"""

import re
from typing import Any

from docs.site.reference_pages import homes
from griffe import Extension, Object

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`~?([^`]+)`")
_DOUBLE = re.compile(r"``([^`]+)``")


class Docstrings(Extension):
    """Changes docstrings after they were read."""

    def __init__(self) -> None:
        self._homes = homes()

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = self.shown(obj.docstring.value)

    def shown(self, text: str) -> str:
        """A docstring with links for roles and with the section name that griffe knows."""
        text = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
        return _DOUBLE.sub(r"`\1`", _ROLE.sub(lambda match: self._link(match[1]), text))

    def _link(self, target: str) -> str:
        name = target.rsplit(".", 1)[-1]
        if name in self._homes:
            return f"[`{name}`][{self._homes[name]}.{name}]"
        return f"`{target}`"
