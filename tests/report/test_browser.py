"""Reports in a real Chromium: quiet, offline, readable on a phone, by keyboard, light and dark."""

from pathlib import Path

import pytest

from nasgoat.report import search_page, write_experiment_page, write_report
from nasgoat.spaces import nasbench201, parse_space, preset
from tests.report.browser import Browser
from tests.report.experiments import compare, kernels
from tests.report.studies import OURS, hostile_space, made

CHECKS = (Path(__file__).parent / "checks.js").read_text()
PAGES = ["plain", "hostile", "experiment", "predictions"]
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of reports that hold everything a report can hold."""
    folder = tmp_path_factory.mktemp("reports")
    table = {**OURS, "objective": {"benchmark": "nb201/cifar10", "noisy": False}}
    failed = {6: "<img src=http://127.0.0.1:9/x onerror=alert(1)>", 7: "x" * 3000}
    runs = {
        "plain": made(nasbench201(), 30, table, gap=0.5),
        "hostile": made(hostile_space(), 16, failed=failed, command="nasgoat " + "y" * 500),
    }
    html = {name: search_page(run) for name, run in runs.items()}
    html["experiment"] = write_experiment_page(compare(folder / "compare"))
    html["predictions"] = write_experiment_page(kernels(folder / "kernels"))
    for name, text in html.items():
        write_report(text, folder / f"{name}.html")
    return {name: (folder / f"{name}.html").as_uri() for name in html}


def problems(browser: Browser) -> list[str]:
    """What the browser complained of, and every request but that for the page itself."""
    found = []
    for event in browser.events:
        if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown"):
            found.append(str(event["params"]))
        if event["method"] in ("Runtime.consoleAPICalled", "Page.javascriptDialogOpening"):
            found.append(str(event["params"]))
        if event["method"] == "Network.requestWillBeSent":
            address = event["params"]["request"]["url"]
            if not address.startswith(("file://", "data:")):
                found.append(address)
    return found


@pytest.mark.parametrize("name", PAGES)
def test_a_report_is_quiet_and_asks_for_nothing(
    browser: Browser, pages: dict[str, str], name: str
) -> None:
    browser.open(pages[name])
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    requests = [e for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    assert [e["params"]["type"] for e in requests].count("Document") == 1
    assert problems(browser) == []


def test_the_policy_stops_what_escaping_might_miss(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["hostile"])
    browser.run(
        """new Promise((resolve) => {
            window.blocked = [];
            addEventListener("securitypolicyviolation", (e) => blocked.push(e.violatedDirective));
            const script = document.createElement("script");
            script.textContent = "window.harm = true";
            const image = document.createElement("img");
            image.src = "http://127.0.0.1:9/x";
            document.body.append(script, image);
            fetch("http://127.0.0.1:9/x").catch(() => setTimeout(resolve, 50));
        })"""
    )
    assert browser.run("window.harm === undefined")
    blocked = browser.run("blocked.map((name) => name.split('-')[0]).sort()")
    assert blocked == ["connect", "img", "script"]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [375, 1200])
def test_the_page_never_scrolls_sideways(
    browser: Browser, pages: dict[str, str], name: str, width: int
) -> None:
    browser.open(pages[name], width)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.run(OVERFLOW) == 0


CELL_TEXT = """[...document.querySelectorAll('svg.cell')].filter((e) => e.checkVisibility()).map(
    (e) => 13 * e.getBoundingClientRect().width / e.viewBox.baseVal.width)"""


@pytest.mark.parametrize("name", ["chain", "darts", "molecules", "nb101"])
def test_cells_scroll_on_a_phone_instead_of_shrinking(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    layers = 'kind = "chain"\nlayers = 24\nops = ["identity", "mb3_expand6", "mb6_expand3"]'
    space = parse_space(f"[space]\n{layers}") if name == "chain" else preset(name)
    write_report(search_page(made(space, 16)), tmp_path / "report.html")
    browser.open((tmp_path / "report.html").as_uri(), 400)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    sizes = browser.run(CELL_TEXT)
    assert len(sizes) == 17  # the best, and every one in the gallery
    assert min(sizes) >= 12.9  # pixels: what they are on a wide screen
    assert browser.run(OVERFLOW) == 0
    assert browser.run(CHECKS) == []
    room = browser.run(
        "[...document.querySelectorAll('.hero, ol.gallery .pan')].map((e) => "
        "e.scrollWidth - e.clientWidth)"
    )
    assert (max(room) > 0) == (name != "molecules")  # whose pictures are small enough to fit


def test_a_chart_alone_in_its_row_takes_the_width(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["plain"])
    lone = """[...document.querySelectorAll('.grid')].filter((g) => g.className === 'grid')
        .map((g) => [...g.children].map((f) => f.getBoundingClientRect()))
        .map((boxes) => boxes.filter((b) => boxes.filter((o) => o.top === b.top).length === 1)
        .map((b) => b.width))"""
    found = [width for grid in browser.run(lone) for width in grid]
    assert found
    assert min(found) > 900  # pixels of 1200


def test_light_and_dark_differ_and_follow_the_reader(
    browser: Browser, pages: dict[str, str]
) -> None:
    colours = """[document.body, document.querySelector('svg.chart .line')]
        .map((e) => getComputedStyle(e)).map((s) => [s.backgroundColor, s.color, s.stroke])"""
    browser.open(pages["plain"])
    light = browser.run(colours)
    browser.open(pages["plain"], dark=True)
    dark = browser.run(colours)
    assert light[0][0] != dark[0][0]
    assert light[0][1] != dark[0][1]
    assert light[1][2] != dark[1][2]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (375, True)])
def test_nothing_is_in_the_way_of_any_reader(
    browser: Browser, pages: dict[str, str], name: str, width: int, dark: bool
) -> None:
    browser.open(pages[name], width, dark=dark)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.run(CHECKS) == []


def test_the_checks_see_what_is_wrong(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["plain"])
    bad = """<p id="bad">pale</p><div role="region">no name</div><a href="#bad"></a><h4>deep</h4>
        <ul><p>no item</p></ul><div class="pan"><svg class="chart"></svg></div>"""
    browser.run(f"document.querySelector('main').insertAdjacentHTML('beforeend', `{bad}`)")
    browser.run("document.querySelector('#bad').style.color = '#ccc'")
    browser.run("document.querySelector('.pan:last-child svg').style.width = '3000px'")
    found = browser.run(CHECKS)
    kinds = sorted(problem.split(":")[0].split(" 1.")[0] for problem in found)
    assert kinds == ["contrast", "heading 2 to 4", "in a list", "no name", "no name", "unreachable"]


def test_the_tab_key_goes_through_the_page_in_order(
    browser: Browser, pages: dict[str, str]
) -> None:
    browser.open(pages["plain"])
    seen = []
    for _ in range(12):
        browser.press("Tab", 9)
        seen.append(
            browser.run(
                "[document.activeElement.textContent.slice(0, 20), "
                "document.activeElement.getBoundingClientRect().top + scrollY, "
                "getComputedStyle(document.activeElement).outlineStyle]"
            )
        )
    assert seen[0][0] == "Skip to the content"
    assert seen[1][0] == "The best graph"
    heights = [top for _, top, _ in seen[1:]]
    assert heights == sorted(heights)
    assert all(outline != "none" for *_, outline in seen)


def test_the_skip_link_leads_to_the_content(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["plain"])
    browser.press("Tab", 9)
    browser.press("Enter", 13)
    assert browser.run("document.activeElement.id") == "content"


def test_a_screen_reader_hears_pictures_regions_and_tables(
    browser: Browser, pages: dict[str, str]
) -> None:
    browser.open(pages["plain"])
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    heard = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored")
    ]
    names = dict.fromkeys(role for role, _ in heard)
    assert {"banner", "main", "contentinfo", "navigation", "table", "columnheader"} <= set(names)
    pictures = [name for role, name in heard if role in ("image", "img")]
    assert pictures
    assert all(pictures)
    assert any("Regret of the best graph" in name for name in pictures)
    assert all(name for role, name in heard if role in ("region", "navigation", "link", "button"))


def test_headings_sort_the_table_and_say_so(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["plain"])
    column = """[...document.querySelector('table.sortable').tBodies[0].rows]
        .map((row) => parseFloat(row.querySelector('td:nth-last-child(2)').textContent))"""
    head = "document.querySelector('table.sortable thead th:nth-last-child(2)')"
    browser.run(f"{head}.querySelector('button').click()")
    assert browser.run(column) == sorted(browser.run(column))
    assert browser.run(f"{head}.getAttribute('aria-sort')") == "ascending"
    browser.run(f"{head}.querySelector('button').click()")
    assert browser.run(column) == sorted(browser.run(column), reverse=True)


def test_a_row_leads_to_its_cell_in_the_closed_part_of_the_gallery(
    browser: Browser, pages: dict[str, str]
) -> None:
    browser.open(pages["plain"])
    link = browser.run(
        """(() => { const item = document.querySelector('details ol.gallery li');
            document.querySelector(`a[href='#${item.id}']`).click();
            return '#' + item.id; })()"""
    )
    browser.wait(lambda: bool(browser.run(f"document.querySelector('{link}').checkVisibility()")))
    assert browser.run("location.hash") == link


def test_the_report_can_be_read_without_scripts(browser: Browser, pages: dict[str, str]) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages["plain"])
        assert browser.run("document.querySelectorAll('table.sortable button').length") == 0
        assert browser.run("document.querySelector('h1').getClientRects().length") == 1
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
