"""The map in a real Chromium, without Streamlit: what a hand and an eye would do with it."""

import base64
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.browser

PATIENCE = 60_000  # milliseconds; a busy machine draws slowly

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def harness() -> Iterator[str]:
    """The address of the map's own page."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(Path(__file__).parent / "harness"))
    import serve

    server = serve.serve()
    server.settled = True  # a page of 60 modules is fetched once
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def open_map(harness: str, window: Any) -> Iterator[Open]:
    """Open the page with options; whatever goes wrong in it fails the test."""
    troubles: list[str] = []
    pages = []

    def open_it(query: str, width: int = 1000, height: int = 640, ready: bool = True, **options: Any) -> Any:
        page = window(width, height, **options).new_page()
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(harness + query)
        if ready:
            page.wait_for_selector('.map[data-ready="true"]')
        return page

    yield open_it
    for page in pages:
        page.close()
    assert troubles == []


def state(page: Any, name: str) -> str:
    return page.locator(".map").get_attribute(f"data-{name}")


def wait(page: Any, **attributes: object) -> None:
    """Until the map says so."""
    selector = "".join(f'[data-{name}="{value}"]' for name, value in attributes.items())
    page.wait_for_selector(f".map{selector}")


def still(page: Any) -> None:
    """Until nothing moves any more."""
    page.wait_for_function("!map().scene.pending && !map().scene.clock && !map().scene.target")


def place(page: Any, item: int) -> tuple[float, float]:
    return tuple(page.evaluate(f"map().clientOf({item})"))


def said(page: Any, name: str) -> list[Any]:
    return [value for key, value in page.evaluate("said") if key == name]


def test_a_finished_run_stands_on_its_last_frame_with_every_image(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, state="finished", step=600, points=3000, frame=50, playing="false")
    assert said(page, "ended") == []
    assert page.locator(".caption").inner_text() == "3,000 test images"


def test_a_live_run_is_followed_to_its_end_and_says_so_once(open_map: Open) -> None:
    page = open_map("?n=3000&live=1&pace=0.15")
    assert state(page, "points") == "2000"
    assert "2,000 of 3,000 test images" in page.locator(".caption").inner_text()
    wait(page, state="finished", points=3000, step=600)
    page.wait_for_function("said.length > 0")
    page.evaluate("update(); update({ running: false })")
    still(page)
    assert page.evaluate("said") == [["ended", "finished"]]
    assert state(page, "mounts") == "1"


def test_new_frames_leave_the_eye_where_the_person_put_it(open_map: Open) -> None:
    page = open_map("?n=3000&live=1&pace=0.15")
    box = page.locator(".overlay").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    page.mouse.wheel(0, -30)
    view = page.evaluate("map().scene.view")
    wait(page, state="finished", points=3000)
    still(page)
    assert page.evaluate("map().scene.view") == view
    page.locator("[data-tool=home]").click()
    still(page)
    assert page.evaluate("map().scene.view") != view


def test_updates_from_python_neither_mount_anew_nor_move_anything(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000)
    page.mouse.move(500, 300)
    page.mouse.wheel(0, -200)
    still(page)
    before = page.evaluate("[map().id, map().scene.view, map().playback.player.head]")
    page.evaluate("update({ pinned: 7, neighbours: [9], distance: 0.1 }); dark(true); dark(false)")
    still(page)
    assert page.evaluate("[map().id, map().scene.view, map().playback.player.head]") == before
    assert state(page, "mounts") == "1"
    assert state(page, "pinned") == "7"


def test_an_overtaken_cleanup_does_not_take_the_map_away_but_the_last_one_does(open_map: Open) -> None:
    page = open_map("?n=3000")
    page.evaluate("update(); cleanups.at(-2)()")
    page.wait_for_timeout(100)
    assert page.locator(".map").count() == 1
    page.evaluate("cleanups.at(-1)()")
    page.wait_for_function("!document.querySelector('#host').shadowRoot.querySelector('.map')")


def test_a_click_pins_what_is_under_it_and_escape_lets_go(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000)
    still(page)
    x, y = place(page, 42)
    nearest = page.evaluate(
        "([x, y]) => { const box = map().overlay.getBoundingClientRect();"
        "return map().scene.pick(x - box.left, y - box.top, 12); }",
        [x, y],
    )
    page.mouse.click(x, y)
    wait(page, pinned=nearest)
    assert said(page, "pinned") == [nearest]
    page.keyboard.press("Escape")
    wait(page, pinned="")
    assert said(page, "pinned") == [nearest, None]


def test_an_echo_of_an_earlier_click_does_not_take_back_the_later_one(open_map: Open) -> None:
    page = open_map("?n=3000")
    page.evaluate("map().pointing.pin(1); map().pointing.pin(2)")
    page.evaluate("update({ pinned: 1 })")
    assert state(page, "pinned") == "2"
    page.evaluate("update({ pinned: 2 })")
    assert state(page, "pinned") == "2"
    page.evaluate("update({ pinned: 5 })")
    assert state(page, "pinned") == "5"


def test_hovering_shows_the_points_own_picture(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000)
    still(page)
    x, y = place(page, 42)
    page.mouse.move(x, y)
    page.wait_for_selector(".card:not([hidden])")
    item = int(page.locator(".card").get_attribute("data-item"))
    style = page.locator(".picture").evaluate("node => node.style.backgroundPosition")
    side = page.locator(".picture").evaluate("node => node.clientWidth")
    assert style == f"{-(item % 100) * side}px {-(item // 100) * side}px".replace("-0px", "0px")
    label = page.evaluate(f"map().model.classes[map().model.labels[{item}]]")
    assert page.locator(".card .title").inner_text().strip() == label
    page.mouse.move(2, 2)
    page.wait_for_selector(".card", state="hidden")


def test_a_lasso_takes_what_it_encloses_and_no_hidden_class(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000)
    still(page)
    page.locator('.class[data-class="3"]').click()
    page.wait_for_function("map().model.hidden.has(3)")
    page.locator("[data-tool=box]").click()
    box = page.locator(".overlay").bounding_box()
    corners = [box["x"] + 200, box["y"] + 80, box["x"] + 620, box["y"] + 330]
    page.mouse.move(*corners[:2])
    page.mouse.down()
    page.mouse.move(*corners[2:], steps=6)
    page.mouse.up()
    page.wait_for_function("said.length > 0")
    selection = said(page, "selected")[-1]
    mask = np.unpackbits(np.frombuffer(base64.b64decode(selection["bits"]), np.uint8), bitorder="little")[:3000]
    still(page)
    places = np.array(page.evaluate("[...Array(3000).keys()].map((i) => map().clientOf(i))"))
    labels = np.array(page.evaluate("[...map().model.labels]"))
    inside = ((places > corners[:2]) & (places < corners[2:])).all(1) & (labels != 3)
    # Points on the edge may fall to either side by the rounding of positions.
    near_edge = (np.abs(places[:, None] - np.array(corners).reshape(1, 2, 2)) < 0.5).any((1, 2))
    assert (mask.astype(bool) == inside)[~near_edge].all()
    assert selection["count"] == mask.sum() > 100
    assert state(page, "selected") == str(selection["count"])


def test_the_legend_hides_and_solos_and_counts(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000)
    counts = [int(text.replace(",", "")) for text in page.locator(".class .count").all_inner_texts()]
    assert sum(counts) == 3000
    page.locator('.class[data-class="0"]').click()
    wait(page, points=3000 - counts[0])
    page.locator('.class[data-class="5"]').click(modifiers=["Alt"])
    wait(page, points=counts[5])
    assert "of 3,000 shown" in page.locator(".caption").inner_text()
    page.locator('.class[data-class="5"]').click(modifiers=["Alt"])
    wait(page, points=3000)


def test_the_player_plays_steps_and_scrubs(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000, frame=50)
    page.keyboard.press("Tab")
    page.locator(".overlay").focus()
    page.keyboard.press(",")
    wait(page, frame=49, step=page.evaluate("map().playback.entries[49].step"), points=2000)
    page.locator(".track").press("Home")
    wait(page, frame=0, step=0)
    page.locator(".player .play").click()
    wait(page, playing="true")
    page.wait_for_function("map().playback.player.head > 1.2")
    page.keyboard.press("Space")
    wait(page, playing="false")
    assert page.evaluate("Number.isInteger(map().playback.player.head)")
    box = page.locator(".track").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 1, box["y"] + 10)
    wait(page, frame=50, points=3000)
    assert page.locator(".player .label").inner_text() == "step 600 of 600"


def test_a_ready_made_run_plays_at_once_but_not_for_who_wants_stillness(open_map: Open) -> None:
    page = open_map("?n=3000&autoplay=1")
    wait(page, playing="true")
    page.close()
    quiet = open_map("?n=3000&autoplay=1", reduced_motion="reduce")
    wait(quiet, state="finished", frame=50, points=3000, playing="false")


def test_the_wheel_zooms_about_the_cursor_down_to_pictures(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000)
    still(page)
    x, y = (round(v) for v in place(page, 42))  # the browser tells the wheel's place in whole pixels
    under = f"(({{ left, top }}) => map().scene.toWorld({x} - left, {y} - top))(map().overlay.getBoundingClientRect())"
    before = page.evaluate(under)
    page.mouse.move(x, y)
    for _ in range(9):
        page.mouse.wheel(0, -200)
    still(page)
    assert page.evaluate("map().scene.zoomed") > 10
    assert page.evaluate(under) == pytest.approx(before, abs=1e-6)
    page.wait_for_function("map().picture.drawn.size > 0")
    page.locator(".overlay").press("Home")
    page.wait_for_function("map().picture.drawn.size === 0")


def test_arrows_walk_from_point_to_point(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000)
    still(page)
    page.locator(".overlay").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("map().model.pinned !== null")
    first = page.evaluate("map().model.pinned")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"map().model.pinned !== {first}")
    second = page.evaluate("map().model.pinned")
    assert place(page, second)[0] > place(page, first)[0]
    # Who walks fast tells Python where he arrives.
    page.wait_for_function(f"said.some(([name, value]) => name === 'pinned' && value === {second})")
    assert said(page, "pinned")[-1] == second


def test_a_finger_taps_pans_and_pinches_on_a_phone(open_map: Open) -> None:
    page = open_map("?n=3000", width=390, height=844, has_touch=True, is_mobile=True)
    wait(page, points=3000)
    still(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    x, y = place(page, 42)
    page.touchscreen.tap(x, y)
    page.wait_for_function("map().model.pinned !== null")
    page.wait_for_selector(".card:not([hidden])")
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        spots = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    touch("touchStart", (150, 300), (250, 300))
    for step in range(10):
        touch("touchMove", (150 - 8 * step, 300), (250 + 8 * step, 300))
    touch("touchEnd")
    still(page)
    assert page.evaluate("map().scene.zoomed") > 1.8
    before = place(page, 42)
    touch("touchStart", (200, 300))
    for step in range(1, 11):
        touch("touchMove", (200 + 5 * step, 300 + 3 * step))
    touch("touchEnd")
    still(page)
    assert place(page, 42) == pytest.approx((before[0] + 50, before[1] + 30), abs=6)


def test_canvas_stands_in_where_webgl_is_missing(open_map: Open) -> None:
    assert state(open_map("?n=3000"), "renderer") == "webgl2"
    page = open_map("?n=3000&renderer=canvas")
    wait(page, renderer="canvas", points=3000)
    still(page)
    drawn = (
        "() => { const { canvas, context } = map().scene.renderer; const { data } = context.getImageData(0, 0, "
        "canvas.width, canvas.height); return data.reduce((n, v, i) => n + (i % 4 === 3 && v > 0), 0); }"
    )
    assert page.evaluate(drawn) > 3000


def test_a_lost_graphics_context_comes_back_with_all_points(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000)
    still(page)
    ink = """() => {
      const { gl, canvas } = map().scene.renderer;
      map().scene.drawNow();
      const pixels = new Uint8Array(4 * canvas.width * canvas.height);
      gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
      return pixels.reduce((n, v, i) => n + (i % 4 === 3 && v > 0), 0);
    }"""
    before = page.evaluate(ink)
    assert before > 3000
    page.evaluate(
        "window.extension = map().scene.renderer.gl.getExtension('WEBGL_lose_context'); extension.loseContext()"
    )
    page.wait_for_function("map().scene.renderer.gl.isContextLost()")
    page.evaluate("setTimeout(() => extension.restoreContext(), 50)")
    page.wait_for_function("!map().scene.renderer.gl.isContextLost()")
    page.wait_for_timeout(100)
    assert page.evaluate(ink) == pytest.approx(before, rel=0.01)


def test_polled_events_and_frames_draw_the_same_map(open_map: Open) -> None:
    page = open_map("?n=3000&polled=1", ready=False)
    page.wait_for_function("window.polled === true")
    wait(page, state="finished", points=3000, step=600)
    asked = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in asked if "/api/frames" in name] == page.evaluate("fetchedForPolling")


def test_a_host_that_passes_no_routes_is_told_to_python(open_map: Open) -> None:
    page = open_map("?n=3000&health=0", ready=False)
    page.wait_for_function("said.some(([name]) => name === 'routes')")
    assert said(page, "routes") == ["blocked"]


def test_a_query_is_a_star_with_a_place_of_its_own(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000)
    page.evaluate("update({ query: { xy: [0.3, 0.2], neighbours: [5] } })")
    still(page)
    assert page.evaluate("map().star.at(1)") == [0.3, 0.2]
    page.evaluate("update({ query: null })")
    still(page)
    assert page.evaluate("map().star.at(1)") is None


def test_another_view_is_reached_by_moving_points_and_its_units_are_never_seen(open_map: Open) -> None:
    page = open_map("?n=3000")
    wait(page, points=3000)
    still(page)
    page.evaluate("update({ view: 'p', query: { xy: [3, 4], neighbours: [] } })")
    wait(page, view="p", state="finished", frame=19, step=20)
    still(page)
    on_stage = """() => {
      const { scene, model } = map();
      const seen = [...Array(model.n).keys()].map((i) => scene.screenOf(i));
      const spread = (axis) => Math.max(...seen.map((p) => p[axis])) - Math.min(...seen.map((p) => p[axis]));
      return Math.max(spread(0) / scene.port.width, spread(1) / scene.port.height);
    }"""
    assert 0.5 < page.evaluate(on_stage) <= 1
    page.locator(".track").press("Home")
    wait(page, frame=0)
    still(page)
    assert 0.5 < page.evaluate(on_stage) <= 1
    assert page.evaluate("map().star.at(1)") is None  # the query's place belongs to the last frame
    for _ in range(2):
        page.locator(".player .speed").click()  # 4×: in three seconds, not eleven
    page.evaluate(
        "window.spreads = []; const measure = " + on_stage + "; window.watch = setInterval(() => "
        "spreads.push(measure()), 15); map().act('play')"
    )
    wait(page, frame=19, playing="false")
    page.evaluate("clearInterval(watch)")
    spreads = page.evaluate("spreads")
    assert len(spreads) > 5
    assert min(spreads) > 0.4
    assert max(spreads) < 1.3
    page.evaluate("update({ view: 'live', query: null })")
    wait(page, view="live", step=600, points=3000)
