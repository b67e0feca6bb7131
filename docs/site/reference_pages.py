"""MkDocs hook: the reference of the Python package, one page for each subpackage.

The pages name what each subpackage exports in ``__all__``; mkdocstrings fills in the docstrings.
A name that several subpackages export is described where it is defined.
"""

import ast
from dataclasses import dataclass
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


def packages() -> list[Package]:
    """The subpackages that export names, and the modules that users import from."""
    paths = {".".join(p.parent.relative_to(SOURCE).parts): p for p in SOURCE.rglob("__init__.py")}
    paths = {name: path for name, path in paths.items() if name and not name.startswith("cli")}
    found = [_read(name, path) for name, path in paths.items()]
    found += [_read(name, SOURCE / f"{name}.py") for name in MODULES]
    rank = {name: i for i, name in enumerate(ORDER)}
    kept = [package for package in found if package.exports]
    return sorted(kept, key=lambda package: (rank.get(package.name, len(rank)), package.name))


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
    for name in package.exports:
        if home[name] == package.full_name:
            lines += [f"::: {package.full_name}.{name}", ""]
        else:
            other = home[name]
            lines += [f"## {name}", "", f"See [`{other}.{name}`][{other}.{name}].", ""]
    return "\n".join(lines)


def index_page() -> str:
    """The page that lists what ``import nasgoat`` offers, and the subpackages."""
    home = homes()
    lines = [
        "# Python",
        "",
        "What `import nasgoat` offers:",
        "",
        "| name | described in |",
        "|---|---|",
    ]
    names = _read("", SOURCE / "__init__.py").exports
    lines += [f"| [`nasgoat.{name}`][{home[name]}.{name}] | `{home[name]}` |" for name in names]
    lines += ["", "Subpackages, each with what it exports:", "", "| package | what |", "|---|---|"]
    for package in packages():
        link = f"[`{package.full_name}`]({Path(package.page).name})"
        lines.append(f"| {link} | {package.summary} |")
    return "\n".join([*lines, ""])


def _read(name: str, path: Path) -> Package:
    """What a file says of its package; nothing is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    exports: tuple[str, ...] = ()
    modules: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            exports = tuple(ast.literal_eval(node.value))
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {alias.asname or alias.name: node.module for alias in node.names}
    if path.name != "__init__.py" and not exports:
        exports = tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    summary = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")
    return Package(name, summary, exports, modules)
