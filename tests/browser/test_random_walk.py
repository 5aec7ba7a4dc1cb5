"""Random actions on Explore: what is looked at, the address and what is drawn stay one and the same.

Each action says what is looked at from then on. After each, the store, the address and the map are compared with that.
"""

import random
import re
import time
import urllib.parse
from typing import Any

import pytest
from dmlviz_app.forms.selection import Selection
from playwright.sync_api import Page

from dmlviz.catalog.projections import PROJECTIONS

pytestmark = pytest.mark.browser
ACTIONS, ALL_ACTIONS = 20, 500  # the first of them, and all with `--whole`
SEED = 24
LIVE, PROJECTION = re.compile("^live$"), re.compile("^[0-9a-f]{16}$")
# The map of the page, which lies in the workbench.
FIND = """[...document.querySelectorAll("*")]
    .flatMap((node) => [...(node.shadowRoot?.querySelectorAll(".map-part") ?? [])])
    .map((part) => part.shadowRoot.querySelector(".map")?.map)[0]"""
# What is looked at, as the store of the page, the address and the map say.
READ = """() => {
  const map = document.querySelector(".stApp") && {find};
  if (!map || map.layout.root.dataset.ready !== "true") return null;
  const { state } = map.state.store;
  const items = (mask) => (mask ? [...mask.keys()].filter((item) => mask[item]) : []);
  return {
    store: {
      pin: state.pinned, select: items(state.selected), isolate: items(state.isolated), hide: [...state.hidden].sort(),
      color: state.color, step: state.step, names: state.display.names, view: map.state.data.view,
    },
    drawn: {
      pin: map.layout.root.dataset.pinned, select: Number(map.layout.root.dataset.selected),
      color: map.layout.root.dataset.color, view: map.layout.root.dataset.view, names: map.state.names,
      points: Number(map.layout.root.dataset.points), n: map.model.n, playing: map.layout.root.dataset.playing,
      shown: items(map.scene.usable).length, place: map.layout.root.dataset.step,
    },
    address: location.search,
  };
}""".replace("{find}", FIND)
RUN_MAP = "(code) => { const map = {find}; return new Function('map', code)(map); }"


class Walker:
    """One tab, and what should be looked at in it."""

    def __init__(self, page: Page, n: int) -> None:
        self.page, self.n = page, n
        self.looked_at: dict[str, Any] = {}
        self.start()

    def start(self) -> None:
        self.looked_at = {
            "pin": None, "select": [], "isolate": [], "hide": [], "color": "class", "step": None, "names": True
        }  # fmt: skip

    def do(self, code: str) -> Any:
        """Do it by the map's own actions, as keys and clicks do."""
        return self.page.evaluate(RUN_MAP.replace("{find}", FIND), code)

    # ---- actions of a person: each returns after it has begun

    def pin(self, chance: random.Random) -> None:
        item = chance.choice([None, chance.randrange(self.n)])
        self.do(f"map.interaction.pin({'null' if item is None else item})")
        self.looked_at["pin"] = item

    def lasso(self, chance: random.Random) -> None:
        items = sorted(chance.sample(range(self.n), chance.choice([0, 1, 12, 150])))
        visible = set(self.do("return [...map.scene.usable.keys()].filter((item) => map.scene.usable[item])"))
        self.do(f"map.selection.selectItems({{ items: {items}, reason: null }})")
        self.looked_at["select"] = [item for item in items if item in visible]

    def scrub(self, chance: random.Random) -> None:
        steps = self.do("return map.playback.entries.map(({ step }) => step)")
        step = chance.choice(steps)
        self.do(f"map.actions.run(['seekStep', {step}])")
        self.looked_at["step"] = None if step == steps[-1] else step

    def color(self, chance: random.Random) -> None:
        self.looked_at["color"] = chance.choice(["class", "error", "faithfulness", "center"])
        self.do(f"map.chooseColor('{self.looked_at['color']}')")

    def names(self, _chance: random.Random) -> None:
        self.do("map.actions.run(['names'])")
        self.looked_at["names"] = not self.looked_at["names"]

    def hide(self, chance: random.Random) -> None:
        group = chance.randrange(10)
        self.do(f"map.model.toggleClass({group})")
        hidden = set(self.looked_at["hide"]) ^ {group}
        labels = self.do("return [...map.model.labels]")
        self.looked_at["hide"] = sorted(hidden)
        self.looked_at["select"] = [item for item in self.looked_at["select"] if labels[item] not in hidden]

    def isolate(self, _chance: random.Random) -> None:
        if self.looked_at["isolate"]:
            self.looked_at["select"] = self.looked_at["select"] or self.looked_at["isolate"]
            self.looked_at["isolate"] = []
        elif self.looked_at["select"]:
            self.looked_at["isolate"], self.looked_at["select"] = self.looked_at["select"], []
        self.do("map.actions.run(['isolate'])")

    # ---- and what is read back

    def read(self) -> dict[str, Any] | None:
        """Return what the page says, as pairs of what it is and what it should be; None until it has settled."""
        seen = self.page.evaluate(READ)
        if seen is None:
            return None
        query = dict(urllib.parse.parse_qsl(seen["address"].removeprefix("?")))
        wanted, store, drawn = self.looked_at, seen["store"], seen["drawn"]
        live = store["view"] == "live"
        return {
            **{f"store: {name}": (store[name], wanted[name]) for name in wanted},
            "address: pin": (query.get("pin"), None if wanted["pin"] is None else str(wanted["pin"])),
            "address: step": (query.get("step"), None if wanted["step"] is None else str(wanted["step"])),
            "address: color": (query.get("color", "class"), wanted["color"]),
            **{f"address: {name}": (_items(query.get(name)), wanted[name]) for name in ("select", "isolate")},
            "address: hide": (_numbers(query.get("hide", "")), wanted["hide"]),
            "address: names": (query.get("show.names", "1"), str(int(wanted["names"]))),
            "drawn: pin": (drawn["pin"], "" if wanted["pin"] is None else str(wanted["pin"])),
            "drawn: select": (drawn["select"], len(wanted["select"])),
            "drawn: names": (drawn["names"], wanted["names"]),
            "drawn: view": (drawn["view"], store["view"]),
            "drawn: step": (
                drawn["place"] if live and drawn["playing"] == "false" and wanted["step"] is not None else "",
                str(wanted["step"]) if live and drawn["playing"] == "false" and wanted["step"] is not None else "",
            ),
        }

    def settle(self, what: str) -> None:
        """Wait until store, address and map say what is looked at."""
        deadline = time.monotonic() + 30
        while True:
            pairs = self.read()
            differing = None if pairs is None else {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
            if differing == {}:
                return
            assert time.monotonic() < deadline, f"{what}: {differing} at {self.page.url}"
            time.sleep(0.05)


def _items(word: str | None) -> list[int]:
    selection = None if word is None else Selection.decode(word)
    return [] if selection is None else [int(item) for item in selection.items]


def _numbers(word: str) -> list[int]:
    """Return the numbers of ranges: 0-3,7 behind the name of the data set."""
    ranges = [part.split("-") for part in word.rpartition(".")[2].split(",") if part]
    return [number for ends in ranges for number in range(int(ends[0]), int(ends[-1]) + 1)]


def test_a_page_never_forgets_or_takes_back_what_is_looked_at(visit, digits_run, whole):
    chance = random.Random(SEED)
    person = visit()
    page = person.page
    person.open(f"?run={digits_run.id}&dataset=digits&net=linear&steps=20&num_snapshots=5")
    page.locator(".loss-curve svg").press("End")
    walker = Walker(page, len(digits_run.labels))
    walker.settle("at first")
    on_the_map = [walker.pin, walker.lasso, walker.scrub, walker.color, walker.names, walker.hide, walker.isolate]
    others = ["view", "reload", "back and forward", "another page", "second tab", "train"]
    own = PROJECTIONS[digits_run.default_view].title  # "live" in the address
    shown, trained = own, 0
    for number in range(ALL_ACTIONS if whole else ACTIONS):
        kind = chance.choices(["map", *others], [88, 4, 2, 2, 2, 1, 1])[0]
        if number % 10 == 9 and number // 10 < len(others):
            kind = others[number // 10]  # each of them is among the first actions
        if kind == "map":
            action = chance.choice([one for one in on_the_map if shown == own or one != walker.scrub])
            action(chance)
            kind = action.__name__
        elif kind == "view":
            shown = chance.choice([own, "t-SNE"])
            person.choose(shown)
            person.map_has("view", LIVE if shown == own else PROJECTION)
            person.map_has("state", "finished")
        elif kind == "reload":
            page.reload()
        elif kind == "second tab":
            other = person.tab()
            other.goto(page.url)
            beside = Walker(other, walker.n)
            beside.looked_at = walker.looked_at
            beside.settle(f"{number}: {kind}")
            other.close()
        elif kind == "train":
            trained += 1
            page.goto(re.sub(r"&seed=\d+|$", f"&seed={trained}", page.url, count=1))
            run = person.of_map("run")
            person.press("Train")
            person.map_has("run", re.compile(f"^(?!{run})."))
            person.map_has("state", "finished")
            walker.looked_at["step"] = None  # the images stay the same, and with them the pin
            shown = own
        else:
            page.get_by_role("link", name="Runs", exact=True).click()
            page.wait_for_url("**/runs*")
            time.sleep(chance.random() / 2)
            if kind == "another page":
                page.get_by_role("link", name="Explore", exact=True).click()
            else:
                page.go_back()
        walker.settle(f"{number}: {kind}")
