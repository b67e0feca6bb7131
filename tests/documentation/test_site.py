"""The site builds without a warning, needs nothing from elsewhere and describes every name."""

import html
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.site.command_line_page import command_line_page, commands
from docs.site.draw_overview import FOLDER, pictures
from docs.site.formulas import mathml
from docs.site.listed_pages import DECISIONS
from docs.site.reference_pages import comment_above, homes, packages, summary_of
from filelock import FileLock

import nasgoat
from tests.documentation.page_run import blocks_of
from tests.report.browser import Browser

ROOT = Path(__file__).parents[2]
PACKAGES = [package.full_name for package in packages()]
#: Characters of a line of code that fit beside navigation and contents at 1280 pixels.
WIDEST_LINE = 92


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site, by the command of ``make docs``; processes that share the tests share it."""
    folder = tmp_path_factory.getbasetemp() / "site"
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent.with_name("site")
    with FileLock(folder.with_suffix(".lock")):
        if not folder.exists():
            build_site(folder.with_suffix(".part"))
            folder.with_suffix(".part").rename(folder)
    return folder


def build_site(folder: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loads = re.compile(
        r'<(?:script|img|iframe|link rel="(?:stylesheet|preload)")[^>]*https?://[^>]*>'
    )
    found = [
        (page.name, match)
        for page in site.rglob("*.html")
        for match in loads.findall(page.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_is_in_the_reference(site: Path, package: str) -> None:
    exported = getattr(importlib.import_module(package), "__all__", None)
    page = site / "reference" / f"{package.removeprefix('nasgoat.').replace('.', '-')}.html"
    text = page.read_text("utf-8")
    for name in exported or [n for n, home in homes().items() if home == package]:
        if homes()[name] == package:
            assert f'id="{package}.{name}"' in text, name
        else:
            assert f">{name}<" in text, name


def test_every_package_with_exports_has_a_page() -> None:
    found = {path.parent for path in (ROOT / "src" / "nasgoat").rglob("__init__.py")}
    names = {".".join(path.relative_to(ROOT / "src").parts) for path in found}
    exporting = {name for name in names if hasattr(importlib.import_module(name), "__all__")}
    assert exporting - {"nasgoat", "nasgoat.cli"} <= set(PACKAGES)


def test_every_name_of_the_package_is_listed_with_a_link(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text("utf-8")
    for name in nasgoat.__all__:
        assert re.search(
            rf'href="[^"]*#{homes()[name]}\.{name}"[^>]*><code>nasgoat\.{name}<', text
        ), name


def test_every_name_in_the_reference_has_a_line_that_says_what_it_is(site: Path) -> None:
    missing = [name for package in packages() for name in package.exports if not summary_of(name)]
    assert missing == []
    rows = re.findall(
        r"<tr>\s*<td>.*?<code>(nasgoat\.\w+)</code>.*?</td>\s*<td>(.*?)</td>",
        (site / "reference" / "python.html").read_text("utf-8"),
        re.DOTALL,
    )
    said = {name: re.sub("<[^>]+>", "", what).strip() for name, what in rows}
    assert {f"nasgoat.{name}" for name in nasgoat.__all__} <= said.keys()
    assert [name for name, what in said.items() if not what] == []


def test_a_constant_is_described_by_the_comment_above_it() -> None:
    source = "A = 1\n#: The second,\n#: in two lines.\nB = 2\nC = 3\n"
    assert comment_above(source, 4) == "The second,\nin two lines."
    assert comment_above(source, 5) == ""


def test_no_line_of_code_is_wider_than_the_page(site: Path) -> None:
    shown = {
        f"{page.relative_to(site)}: {line}"
        for page in site.rglob("*.html")
        for block in re.findall(r"<pre>(.*?)</pre>", page.read_text("utf-8"), re.DOTALL)
        for line in html.unescape(re.sub("<[^>]+>", "", block)).splitlines()
        if len(line) > WIDEST_LINE
    }
    assert shown == set()


def test_no_line_of_code_in_the_readme_is_wider_than_the_others() -> None:
    lines = [line for block in blocks_of(ROOT / "README.md") for line in block.code.splitlines()]
    assert lines
    assert [line for line in lines if len(line) > WIDEST_LINE] == []


def test_code_of_the_widest_line_fits_at_1280_pixels(site: Path, browser: Browser) -> None:
    browser.open((site / "quickstart.html").as_uri(), width=1280 - 15)  # less a scrollbar
    over = """[...document.querySelectorAll('.md-content pre, .md-content pre > code')]
        .filter((element) => element.scrollWidth > element.clientWidth).length"""
    fill = "document.querySelector('.md-content pre > code').textContent = 'm'.repeat({})"
    assert browser.run(over) == 0
    browser.run(fill.format(WIDEST_LINE))
    assert browser.run(over) == 0
    browser.run(fill.format(2 * WIDEST_LINE))
    assert browser.run(over) > 0


@pytest.mark.parametrize("page", ["index.html", "reference/json.html"])
def test_the_search_works_from_disk(site: Path, browser: Browser, page: str) -> None:
    browser.open((site / page).as_uri(), width=1280)
    browser.run("document.querySelector('label[for=__search]').click()")
    browser.run(
        """(() => {
            const query = document.querySelector('[data-md-component=search-query]');
            query.focus();
            query.value = 'certificate';
            query.dispatchEvent(new Event('input', { bubbles: true }));
            query.dispatchEvent(new KeyboardEvent('keyup', { key: 'e' }));
        })()"""
    )
    links = "[...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)"
    browser.wait(lambda: bool(browser.run(links)))
    assert (site / "tutorials" / "certificates.html").as_uri() in browser.run(links)[0]
    sent = [e for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    addresses = [event["params"]["request"]["url"] for event in sent]
    assert [a for a in addresses if not a.startswith(("file://", "data:"))] == []


def test_every_option_is_in_the_command_line_reference() -> None:
    page = command_line_page()
    for name, command in commands():
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        for parameter in command.params:
            argument = parameter.param_type_name == "argument"
            assert (parameter.name.upper() if argument else parameter.opts[0]) in section


def test_every_decision_is_on_the_site(site: Path) -> None:
    listed = (site / "decisions" / "index.html").read_text("utf-8")
    records = [*DECISIONS.glob("*.md")]
    assert len(records) > 50
    for record in records:
        assert f'href="{record.stem}.html"' in listed
        assert (site / "decisions" / f"{record.stem}.html").exists()


def test_docstrings_leave_no_sphinx_role_behind(site: Path) -> None:
    pages = [*(site / "reference").glob("*.html")]
    assert len(pages) > 5
    for page in pages:
        text = re.sub(r"<[^>]+>", "", html.unescape(page.read_text("utf-8")))
        assert not re.search(r":(class|func|meth|mod|attr):", text), page.name


def test_the_overview_is_what_its_script_draws() -> None:
    for name, content in pictures().items():
        assert (FOLDER / name).read_text("utf-8") == content, (
            "run python docs/site/draw_overview.py"
        )


def test_formulas_are_converted_and_unknown_ones_are_refused() -> None:
    from mkdocs.exceptions import PluginError

    assert "<msqrt>" in mathml(r"\sqrt{\beta}")
    with pytest.raises(PluginError, match="unknowncommand"):
        mathml(r"\unknowncommand{x}")
