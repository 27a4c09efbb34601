"""Reports of hostile tables do nothing in a real browser, whatever their names and cells say."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from eosparse.cli.app import app

HIT = "window.hit=1"
# Each stands in the names of the file and of columns, in cells, categories and classes.
ATTACKS = {
    "script": f"<script>{HIT}</script>",
    "end of the data": f"</script><script>{HIT};alert(1)</script>",
    "end of a comment": f"--><script>{HIT}</script><!--",
    "comment in a script": f"<!--<script>{HIT}</script>",
    "event": f"<img src=x onerror={HIT}>",
    "svg": f"<svg onload={HIT}><animate onbegin={HIT} attributeName=x dur=1s>",
    "double quotes": f'" onmouseover="{HIT}" autofocus onfocus="{HIT}" x="',
    "single quotes": f"' onmouseover='{HIT}' autofocus onfocus='{HIT}' x='",
    "title": f"</title></style></textarea></noscript><script>{HIT}</script>",
    "link": f"javascript:{HIT}",
    "anchor": f"<a href=javascript:{HIT} id=map>click</a>",
    "frame": f"<iframe srcdoc='<script>parent.{HIT}</script>' src=//example.com>",
    "style": "<style>@import 'http://127.0.0.1:9/x';</style><link rel=stylesheet href=//x>",
    "base": "<base href=http://127.0.0.1:9/><meta http-equiv=refresh content=0;url=//x>",
    "template": "{{ 7*7 }}${{7*7}}{% raw %}{{ self.__init__.__globals__ }}${7*7}#{7*7}",
    "json": '"},"flagged":[],"x":{"y":"\\"\u2028\u2029',
    "prototype": "__proto__",
    "constructor": "constructor",
    "entities": f"&lt;script&gt;{HIT}&lt;/script&gt;&#x3c;script&#x3e;",
    "escape": "\x1b[31m\x1b]8;;http://x\x07red\x1b[2J\x9b31m",
    "bidi": "\u202eevil\u2066\u2067\u200f\u061c\ufeff",
    "nul": f"a\0<script\0>{HIT}</script>\0",
    "controls": "\x01\x08\x0b\x0c\x0e\x1f\x7f\x85",
    "huge": "<b>" * 50_000 + "&" * 50_000,
    "combining": "Z" + "\u0335\u0336" * 500,
}
N_ROWS = 160


def make_table(texts):
    """A table with outliers and wrong labels, in which attacks stand everywhere."""
    rng = np.random.default_rng(0)
    half, rows = np.arange(N_ROWS) < N_ROWS // 2, range(N_ROWS)
    middle = rng.normal(0, 1, N_ROWS) + 4 * half
    frame = pd.DataFrame({text: middle + rng.normal(0, 0.3, N_ROWS) for text in texts})
    frame["last"] = middle + rng.normal(0, 0.3, N_ROWS)
    frame[f"{texts[0]} "] = np.exp(rng.normal(size=N_ROWS))
    frame["category"] = [f"{texts[i % len(texts)]}{i % 2}" for i in rows]
    frame["id"] = [f"{texts[i % len(texts)]}{i}" for i in rows]
    frame["label"] = np.where(half, f"{texts[0]}a", f"{texts[-1]}b")
    frame.loc[[3, 90], "last"] = [60.0, -60.0]
    frame.loc[[10, 100], "label"] = [f"{texts[-1]}b", f"{texts[0]}a"]
    return frame


def write_report(texts, folder, command):
    """Write the report of a command about such a table; return the file."""
    name = texts[0].replace("\0", "").replace("/", "⧸")[:40]
    source, out, options = folder / f"{name}.parquet", folder / "report.html", []
    given = source
    if command == "folder":
        given, command = folder / name.strip(". "), "detect"
        source = given / "rows.parquet"
        given.mkdir()
    make_table(texts).to_parquet(source, index=False)
    if command == "labels":
        options = ["--target", "label", "--ignore", "id"]
    elif command == "cells":
        options = ["--ignore", "id,label,category"]
    outcome = CliRunner().invoke(app, [command, str(given), *options, "--report", str(out)])
    assert outcome.exit_code == 0, outcome.output
    assert "\x1b" not in outcome.output
    return out


def use(page):
    """Do with a report what people do."""
    search = page.locator("#search")
    if search.count():
        search.fill("<script>")
        search.fill("")
    for button in page.locator("button:visible").all()[:6]:
        button.click()
    for opened in page.locator("details:not([open]) > summary:visible").all()[:6]:
        opened.click()
    for row in page.locator("tbody tr:visible").all()[:3]:
        row.hover()
    for canvas in page.locator("canvas:visible").all()[:2]:
        box = canvas.bounding_box()
        for share in (0.1, 0.5, 0.9):
            page.mouse.move(box["x"] + share * box["width"], box["y"] + share * box["height"])
    page.keyboard.press("Tab")
    page.wait_for_timeout(50)


# What no cell may become: an element of its own kind, an attribute that runs, another address.
FOUND = """() => ({
    hit: window.hit ?? null,
    n_scripts: document.scripts.length,
    n_events: [...document.querySelectorAll('*')].filter(
        e => [...e.attributes].some(a => a.name.startsWith('on'))).length,
    n_links: [...document.querySelectorAll('[href],[src],[srcdoc],[action]')].filter(
        e => !(e.getAttribute('href') ?? '').startsWith('#')).length,
    n_foreign: document.querySelectorAll('iframe,object,embed,base,svg animate,img,link,b').length,
    address: location.href,
})"""


# One attack after the other in `detect`; the other reports have several in each table.
NAMES = list(ATTACKS)
GROUPS = [NAMES[i::3] for i in range(3)]
CASES = [
    *(("detect", [name]) for name in NAMES),
    *((command, group) for command in ("folder", "cells", "labels") for group in GROUPS),
]


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """Return, by command, what the report of a table without attacks consists of."""
    seen = {}

    def look(opened, command, n_texts):
        key = (command, n_texts)
        if key not in seen:
            texts = [f"calm{i}" for i in range(n_texts)]
            report = write_report(texts, tmp_path_factory.mktemp("calm"), command)
            seen[key] = opened(report).page.evaluate(FOUND)
        return seen[key]

    return look


@pytest.mark.parametrize(("command", "names"), CASES, ids=lambda case: "-".join(np.ravel(case)))
def test_nothing_in_a_table_is_run(opened, calm, tmp_path, command, names):
    report = write_report([ATTACKS[name] for name in names], tmp_path, command)
    watched = opened(report)
    use(watched.page)
    found, wanted = watched.page.evaluate(FOUND), calm(opened, command, len(names))
    assert found["hit"] is None
    assert found["address"] == report.as_uri()
    for name in ("n_scripts", "n_events", "n_links", "n_foreign"):
        assert found[name] == wanted[name], name
    assert watched.is_quiet(), (watched.logged, watched.errors, watched.requests)
