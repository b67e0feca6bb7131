"""MkDocs hook: the reference of the Python package, one page for each subpackage.

The pages name what each subpackage exports in ``__all__``, first in a table with a line about each;
mkdocstrings fills in the docstrings. A name that several subpackages export is described where it
is defined.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SOURCE = Path(__file__).parents[2] / "src" / "nasgoat"
INDEX = "reference/python.md"
#: Subpackages in the order of reading; others follow by name.
ORDER = (
    "bayesopt", "spaces", "graphs", "kernels", "surrogate", "acquisition", "acquisition.branch",
    "search_methods", "baselines", "benchmarks", "integrations", "evaluation", "figures", "export",
    "formulations", "solvers", "errors",
)  # fmt: skip

#: Modules beside the subpackages that users import from.
MODULES = ("errors", "search_methods")

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`~?([^`]+)`")
_DOUBLE = re.compile(r"``([^`]+)``")


@dataclass(frozen=True)
class Package:
    """A subpackage: its name after ``nasgoat.``, its first sentence and what it exports."""

    name: str
    summary: str
    exports: tuple[str, ...]
    modules: dict[str, str]  # where the exports are imported from

    @property
    def page(self) -> str:
        """The page's path."""
        return f"reference/{self.name.replace('.', '-')}.md"

    @property
    def full_name(self) -> str:
        """The name to import."""
        return f"nasgoat.{self.name}"


def on_config(config: MkDocsConfig) -> None:
    """Put the pages into the navigation, below the entry of the index."""
    pages = [{package.full_name: package.page} for package in packages()]
    for section in config.nav or []:
        entries: list[Any] = section.get("Reference", [])
        for i, entry in enumerate(entries):
            if entry == {"Python": INDEX}:
                entries[i] = {"Python": [INDEX, *pages]}


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages."""
    files.append(File.generated(config, INDEX, content=index_page()))
    for package in packages():
        files.append(File.generated(config, package.page, content=package_page(package)))


@cache
def packages() -> list[Package]:
    """The subpackages that export names, and the modules that users import from."""
    paths = {".".join(p.parent.relative_to(SOURCE).parts): p for p in SOURCE.rglob("__init__.py")}
    paths = {name: path for name, path in paths.items() if name and not name.startswith("cli")}
    found = [_read(name, path) for name, path in paths.items()]
    found += [_read(name, SOURCE / f"{name}.py") for name in MODULES]
    rank = {name: i for i, name in enumerate(ORDER)}
    kept = [package for package in found if package.exports]
    return sorted(kept, key=lambda package: (rank.get(package.name, len(rank)), package.name))


@cache
def homes() -> dict[str, str]:
    """For every exported name where it is described: ``GraphGP`` in ``nasgoat.surrogate``."""
    found: dict[str, str] = {}
    for package in packages():
        for name in package.exports:
            source = package.modules.get(name, package.full_name)
            if name not in found or source.startswith(package.full_name):
                found[name] = package.full_name
    return found


def package_page(package: Package) -> str:
    """The page of a subpackage."""
    home = homes()
    lines = [f"# {package.full_name}", "", package.summary, ""]
    if len(package.exports) > 1:
        lines += [*_table_of(list(package.exports), ""), ""]
    for name in package.exports:
        if home[name] == package.full_name:
            lines += [f"::: {package.full_name}.{name}", ""]
        else:
            other = home[name]
            lines += [f"## {name}", "", f"See [`{other}.{name}`][{other}.{name}].", ""]
    return "\n".join(lines)


def index_page() -> str:
    """The page that lists what ``import nasgoat`` offers, and the subpackages."""
    names = _read("", SOURCE / "__init__.py").exports
    lines = ["# Python", "", "What `import nasgoat` offers:", ""]
    lines += _table_of(names_in_order(names), "nasgoat.")
    lines += ["", "Subpackages, each with what it exports:", "", "| package | what |", "|---|---|"]
    for package in packages():
        link = f"[`{package.full_name}`]({Path(package.page).name})"
        lines.append(f"| {link} | {package.summary} |")
    return "\n".join([*lines, ""])


def names_in_order(names: tuple[str, ...]) -> list[str]:
    """Names by the package that describes them, in the order of reading."""
    home, order = homes(), [package.full_name for package in packages()]
    return sorted(names, key=lambda name: (order.index(home[name]), name))


def _table_of(names: list[str], prefix: str) -> list[str]:
    home = homes()
    rows = [f"| [`{prefix}{name}`][{home[name]}.{name}] | {summary_of(name)} |" for name in names]
    return ["| name | what |", "|---|---|", *rows]


def summary_of(name: str) -> str:
    """The first paragraph about an exported name, as a table's cell; empty if there is none."""
    home = next(package for package in packages() if package.full_name == homes()[name])
    path = SOURCE / home.name.replace(".", "/") / "__init__.py"
    text = describe(path if path.exists() else SOURCE / f"{home.name}.py", name)
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def describe(path: Path, name: str) -> str:
    """What a file, or the one that it imports a name from, says of the name, in Markdown.

    This is the docstring of a class or function, and the lines after ``#:`` above a constant.
    """
    source = path.read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return link_roles(ast.get_docstring(node) or "")
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if name in map(ast.unparse, targets):
                return link_roles(comment_above(source, node.lineno))
    module = _read("", path).modules.get(name)
    if module is None:
        return ""
    found = SOURCE.parent / module.replace(".", "/")
    return describe(found / "__init__.py" if found.is_dir() else found.with_suffix(".py"), name)


def comment_above(source: str, line: int) -> str:
    """The lines that begin with ``#:`` directly above a line (counted from 1)."""
    above = source.splitlines()[: line - 1]
    found: list[str] = []
    while above and above[-1].startswith("#:"):
        found.insert(0, above.pop().removeprefix("#:").strip())
    return "\n".join(found)


def link_roles(text: str) -> str:
    """Markdown for a docstring: Sphinx roles become links to the reference, or code."""
    return _DOUBLE.sub(r"`\1`", _ROLE.sub(lambda match: _link(match[1]), text))


def _link(target: str) -> str:
    name, home = target.rsplit(".", 1)[-1], homes()
    return f"[`{name}`][{home[name]}.{name}]" if name in home else f"`{target}`"


def _read(name: str, path: Path) -> Package:
    """What a file says of its package; nothing is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    exports: tuple[str, ...] = ()
    modules: dict[str, str] = {}
    later = [node.body for node in tree.body if isinstance(node, ast.If)]  # for type checkers
    for node in [*tree.body, *(inner for body in later for inner in body)]:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            exports = tuple(ast.literal_eval(node.value))
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {alias.asname or alias.name: node.module for alias in node.names}
    if path.name != "__init__.py" and not exports:
        exports = tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    summary = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")
    return Package(name, summary, exports, modules)
