"""The browser's tabs, and a person who looks at a page and clicks."""

import base64
import contextlib
import re
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, TimeoutError, expect

from dmlviz.labs.registry import LABS
from tests.waiting import until

SLOW = 60_000  # milliseconds; two busy cores that draw WebGL in software


# Where in the window a chart of Plotly shows a point of a trace, by their numbers.
PLACE_OF_POINT = """(chart, [trace, index]) => {
  chart.scrollIntoView({ block: "center", behavior: "instant" });
  if (chart._fullData?.[trace]?.x?.[index] === undefined || !chart._fullLayout?.xaxis) return null;
  const { xaxis, yaxis } = chart._fullLayout, { x, y } = chart._fullData[trace], box = chart.getBoundingClientRect();
  return [box.left + xaxis._offset + xaxis.d2p(x[index]), box.top + yaxis._offset + yaxis.d2p(y[index])];
}"""


# What a story may need a second later, and none but one does: a second of work on each page.
SAVES_DATA = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } });"
# Somebody who was here, and left the settings open where they leave room for the map.
RETURNS = """if (location.protocol === "http:") {
  localStorage.setItem("dmlviz.visited", "yes");
  if (innerWidth > 768) localStorage.setItem("stSidebarCollapsed-", "false");
}"""


def drag(node: Locator, *places: tuple[float, float]) -> None:
    """Press the mouse at the first place of an element, as shares of its size, and let it go at the last."""
    node.scroll_into_view_if_needed()
    mouse, boxes = node.page.mouse, [None]
    until(lambda: boxes.append(node.bounding_box()) or node.page.wait_for_timeout(100) or boxes[-1] == boxes[-2])
    box = boxes[-1]  # where it stays: what comes above it on a busy machine moves it
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in places]
    mouse.move(*at[0])
    mouse.down()
    for place in at[1:]:
        mouse.move(*place, steps=8)
    mouse.up()


SEVEN = (0.3, 0.2), (0.7, 0.2), (0.45, 0.8)
ONE = (0.5, 0.2), (0.5, 0.8)


class Tabs:
    """The browser's tabs. One that is left is used again: its process has compiled the page's files, a third of a load.

    All are of one window, but for what only a window can have, such as a finger. A window opened anew brings pages of
    Chromium's own, a second of work.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._windows: dict[tuple[object, ...], BrowserContext] = {}
        self._left: dict[BrowserContext, list[Page]] = defaultdict(list)

    def take(self, width: int, height: int, theme: Any = "light", motion: bool = True, **options: Any) -> Page:
        """An empty tab of this size, for somebody with these preferences who was here before, or not: `first_visit`.

        What is loaded before it is asked for is not, without `saves_data`. Each `owner` has cookies of their own.
        """
        key = tuple(sorted(options.items()))
        if key not in self._windows:
            scripts = {RETURNS: not options.pop("first_visit", False), SAVES_DATA: options.pop("saves_data", True)}
            options.pop("owner", None)
            self._windows[key] = self._browser.new_context(**options)
            for script in (script for script, wanted in scripts.items() if wanted):
                self._windows[key].add_init_script(script)
            self._windows[key].set_default_timeout(SLOW)
            self._windows[key].new_page()  # keeps the window open
        window = self._windows[key]
        page = self._left[window].pop() if self._left[window] else window.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, reduced_motion="no-preference" if motion else "reduce")
        return page

    def leave(self, page: Page) -> None:
        """Close the page in a tab; nothing of it is in the next one."""
        if not page.is_closed():
            if page.url.startswith("http"):
                page.evaluate("sessionStorage.clear(); localStorage.clear()")
            page.goto("about:blank")
            page.unroute_all()  # a tab with a route asks for all files again
            self._left[page.context].append(page)


DROP = """(map, [name, type, content]) => {
  const data = new DataTransfer();
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  data.items.add(new File([bytes], name, { type }));
  const options = { bubbles: true, composed: true, cancelable: true, dataTransfer: data };
  for (const moment of ["dragover", "drop"]) map.dispatchEvent(new DragEvent(moment, options));
}"""


class Person:
    """Somebody at a browser: opens the page, looks, clicks. Complains of every error in the console."""

    def __init__(self, browser: Tabs, url: str, **looks: Any) -> None:
        self.url = url
        self._browser, self._looks = browser, looks
        self.errors: list[str] = []
        # Parts of errors that a story provokes. Named before them: the page may tell of one before the console does.
        self.provoked: list[str] = []
        self.tabs: list[Page] = []
        self._listeners: dict[Any, Callable[[Any], None]] = {
            "pageerror": lambda error: self.errors.append(str(error)),
            "console": self._hear,
        }
        self.page = self.tab()

    def tab(self) -> Page:
        page = self._browser.take(**self._looks)
        self.tabs.append(page)
        for event, listener in self._listeners.items():
            page.on(event, listener)
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        # Seen once, behind nginx on a busy machine, in a story that went well: Chromium gave up on a file by itself.
        text = f"{message.text} {message.location['url']}"
        if message.type == "error" and not any(part in text for part in ("net::ERR_TOO_MANY_RETRIES", *self.provoked)):
            self.errors.append(text)

    def hear_requests(self) -> list[str]:
        """The addresses that the page asks from now on. To hear of a request costs more than to answer it."""
        asked: list[str] = []
        self._listeners["request"] = lambda request: asked.append(request.url)
        for page in self.tabs:
            page.on("request", self._listeners["request"])
        return asked

    def drop(self, name: str, content: bytes, kind: str = "") -> None:
        """Drop a file on the map."""
        self.map.evaluate(DROP, [name, kind, base64.b64encode(content).decode()])

    def open(self, query: str = "") -> None:
        """Open the page and wait for the map."""
        self.page.goto(f"{self.url}/{query}")
        self.map_has("ready", "true")

    def train(self, settings: str) -> str:
        """Set up by address, press Train, wait until that run is on the map; its id."""
        self.open(f"?{settings}")  # at first the page may show another Train, which it hides again
        return self.press_train()

    def press_train(self) -> str:
        """Train with the settings of the page; the run's id, once it is on the map."""
        self.press("Train")
        expect(self.page).to_have_url(re.compile("run=[0-9a-f]{16}"))
        run = self.page.url.partition("run=")[2][:16]
        self.map_has("run", run)
        return run

    def open_lab(self, name: str, query: str = "") -> None:
        """Open a lab by the address of its answer: guessed before."""
        self.page.goto(f"{self.url}/labs?lab={name}&guess=1{query}")
        self.sees_answer(name)

    def sees_answer(self, name: str) -> None:
        page, lab = self.page, LABS[name]
        expect(page.get_by_role("heading", name=lab.title, exact=True)).to_be_visible()
        expect(page.get_by_text(f"You guessed: {lab.guess.options[0]}")).to_be_visible()
        expect(page.get_by_text(re.compile("^Ready-made results: "))).to_be_visible()
        expect(page.locator(".st-key-lab-open .main-svg").first).to_be_visible()
        if lab.literature or lab.literature_note:
            expect(page.get_by_role("heading", name="What the literature found")).to_be_visible()
        expect(page.get_by_text("details in the log")).to_have_count(0)

    @property
    def map(self):
        return self.page.locator(".map")

    def of_map(self, name: str) -> str:
        return self.map.get_attribute(f"data-{name}") or ""

    def map_has(self, name: str, value: str | re.Pattern[str], timeout: float = SLOW) -> None:
        expect(self.map).to_have_attribute(f"data-{name}", value, timeout=timeout)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def choose(self, name: str) -> None:
        """Click one of a segmented control."""
        self.page.get_by_role("radio", name=name, exact=True).click()

    def inspect(self, name: str) -> None:
        """Open a tab of the inspector."""
        self.page.get_by_role("tab", name=name, exact=True).click()

    def pick(self, label: str, option: str) -> None:
        """Pick an option of a menu. A page that is drawn anew may close the menu: then it is opened again."""
        menu = self.page.get_by_role("combobox", name=label, exact=True)
        item = self.page.get_by_role("option", name=option, exact=True)
        for _ in range(12):
            menu.click()
            menu.fill("")
            menu.press_sequentially(option.partition(" · ")[0])  # of a long list only a part is drawn
            try:
                item.click(timeout=SLOW / 12)
                return
            except TimeoutError:
                self.page.keyboard.press("Escape")
        raise AssertionError(f"the menu {label!r} never showed {option!r}")

    def place_of(self, item: int) -> tuple[float, float]:
        """Where an image is in the window."""
        x, y = self.map.evaluate("(root, item) => root.map.clientOf(item)", item)
        return x, y

    def point_at(self, chart: Locator, index: int, words: str, trace: int = 0) -> tuple[float, float]:
        """Point at a point of a trace until the chart says the words: it may be drawn anew meanwhile. Return where."""
        said = chart.locator(".hoverlayer .hovertext").filter(has_text=words)
        for _ in range(60):
            place = chart.locator(".js-plotly-plot").last.evaluate(PLACE_OF_POINT, [trace, index])
            if place is None:  # another figure is being drawn
                time.sleep(0.2)
                continue
            x, y = place
            self.page.mouse.move(x, y + 1)
            self.page.mouse.move(x, y)
            with contextlib.suppress(AssertionError):
                expect(said.first).to_be_visible(timeout=1000)
                return x, y
        raise AssertionError(f"the chart does not say {words!r} of what is under the pointer")

    def click_point(self, chart: Locator, index: int, words: str, answer: Locator, says: str, trace: int = 0) -> None:
        """Click a point of a trace until `answer` says so: the chart may be drawn anew before the click."""
        for _ in range(6):
            self.page.mouse.click(*self.point_at(chart, index, words, trace))
            with contextlib.suppress(AssertionError):
                expect(answer).to_contain_text(says, timeout=SLOW / 6)
                return
        raise AssertionError(f"a click on the point that says {words!r} is not answered by {says!r}")

    def score(self, key: str) -> str:
        return self.page.locator(f"[data-score={key}] .value").inner_text()

    @property
    def words(self):
        """The line that says how the run stands."""
        return self.page.locator(".progress .words")

    def leave(self) -> None:
        """Close every page."""
        for page in self.tabs:
            for event, listener in self._listeners.items():
                page.remove_listener(event, listener)
            self._browser.leave(page)
