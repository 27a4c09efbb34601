"""Chromium, with a watch on everything that a page does."""

import shutil

import pytest

# Without these flags, Chromium contacts its makers at every start.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def chromium():
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed: make test-browser")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_QUIET)
        yield browser
        browser.close()


class Watched:
    """A page, and everything it logged, requested or did wrong."""

    def __init__(self, page, path):
        self.page, self.logged, self.requests, self.errors = page, [], [], []
        page.on("console", lambda message: self.logged.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.path = path
        page.goto(path.as_uri())

    def is_quiet(self):
        return (self.logged, self.errors, self.requests) == ([], [], [self.path.as_uri()])


@pytest.fixture
def opened(chromium):
    """Open a file; the function returned takes options of a page."""
    contexts = []

    def open_file(path, **options):
        context = chromium.new_context(viewport={"width": 1100, "height": 900}, **options)
        contexts.append(context)
        return Watched(context.new_page(), path)

    yield open_file
    for context in contexts:
        context.close()
