"""MkDocs hook: the reference of the command line, from the commands that ``--help`` describes."""

from collections.abc import Iterator
from typing import Any

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from nasgoat.cli import app

PAGE = "reference/cli.md"
HEAD = """\
# Command line

Written from the commands themselves: `nasgoat VERB --help` says the same. Every verb that computes
takes `--json` and then prints [one JSON document](json.md) to standard output; progress goes to
standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | the work failed |
| 2 | the call was wrong; one line says what and how to mend it |
| 130 | interrupted; the line that resumes is printed |
"""


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the page."""
    files.append(File.generated(config, PAGE, content=command_line_page()))


def command_line_page() -> str:
    """The page: one section for each verb, with its arguments and options."""
    before = ["## Before the verb", "", *_table(typer.main.get_command(app)), ""]
    sections = [_section(name, command) for name, command in commands()]
    return "\n".join([HEAD, *before, *sections])


def commands() -> list[tuple[str, Any]]:
    """Every verb with its full name, groups left out."""
    return list(_walk("nasgoat", typer.main.get_command(app)))


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    for word, child in below.items():
        yield from _walk(f"{name} {word}", child)


def _section(name: str, command: Any) -> str:
    usage = " ".join([name, *(_argument(p) for p in command.params if not _is_option(p))])
    lines = [f"## {name}", "", _cell(command.help or ""), "", "```sh", f"{usage} [OPTIONS]", "```"]
    return "\n".join([*lines, "", *_table(command), ""])


def _table(command: Any) -> list[str]:
    """The arguments and options of a command, group by group as ``--help`` shows them."""
    groups: dict[str, list[str]] = {}
    for parameter in command.params:
        heading = getattr(parameter, "rich_help_panel", None) or ""
        groups.setdefault(heading, []).append(_row(parameter))
    lines = []
    for heading, rows in groups.items():
        lines += [f"**{heading}**", ""] if heading else []
        lines += ["| | what | default |", "|---|---|---|", *rows, ""]
    return lines[:-1]


def _is_option(parameter: Any) -> bool:
    return str(parameter.opts[0]).startswith("-")


def _argument(parameter: Any) -> str:
    name = str(parameter.name).upper()
    return name if parameter.required else f"[{name}]"


def _row(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    shown = ", ".join(
        f"`{name}`" for name in (names if _is_option(parameter) else [_argument(parameter)])
    )
    said = getattr(parameter, "help", None) or ""
    if variable := getattr(parameter, "envvar", None):
        said = f"{said} Environment variable: `{variable}`."
    return f"| {shown} | {_cell(said)} | {_default(parameter)} |"


def _default(parameter: Any) -> str:
    value = parameter.default
    if value is None or value is False or callable(value):
        return ""
    if getattr(parameter, "is_flag", False):
        return f"`{parameter.opts[0]}`"
    return f"`{value}`"


def _cell(text: str) -> str:
    """Text as part of a table's row."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
