"""Mouse, keyboard and touch on the map, in a real Chromium, without Streamlit."""

import numpy as np
import pytest

pytestmark = pytest.mark.browser


def test_a_point_is_pinned_seen_walked_from_and_zoomed_to(open_map):
    page = open_map("?n=3000")
    page.shows(points=3000)
    page.rests()
    x, y = page.place(42)
    nearest = page.evaluate(
        "([x, y]) => { const box = map().layout.overlay.getBoundingClientRect();"
        "return map().scene.pick(x - box.left, y - box.top, 12); }",
        [x, y],
    )
    page.mouse.click(x, y)
    page.shows(pinned=nearest)
    assert page.said("pinned") == [nearest]
    page.keyboard.press("Escape")
    page.shows(pinned="")
    assert page.said("pinned") == [nearest, None]

    # Its image is shown under the pointer.
    x, y = page.place(42)
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

    # Arrows walk from point to point.
    page.locator(".overlay").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("map().model.pinned !== null")
    first = page.evaluate("map().model.pinned")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"map().model.pinned !== {first}")
    second = page.evaluate("map().model.pinned")
    assert page.place(second)[0] > page.place(first)[0]
    assert page.said("pinned")[-1] == second

    # The wheel zooms about the pointer, down to pictures.
    x, y = (round(v) for v in page.place(42))  # the browser tells the wheel's place in whole pixels
    box = "map().layout.overlay.getBoundingClientRect()"
    under = f"(({{ left, top }}) => map().scene.toWorld({x} - left, {y} - top))({box})"
    before = page.evaluate(under)
    page.mouse.move(x, y)
    for _ in range(9):
        page.mouse.wheel(0, -200)
    page.rests()
    assert page.evaluate("map().scene.camera.zoomed") > 10
    assert page.evaluate(under) == pytest.approx(before, abs=1e-6)
    page.wait_for_function("map().overlay.pictures.size > 0")
    page.locator(".overlay").press("Home")
    page.wait_for_function("map().overlay.pictures.size === 0")


def test_the_legend_hides_and_solos_and_counts_and_a_lasso_selects_what_is_visible(open_map):
    page = open_map("?n=3000")
    page.shows(points=3000)
    page.rests()
    counts = [int(text.replace(",", "")) for text in page.locator(".class .count").all_inner_texts()]
    assert sum(counts) == 3000
    page.locator('.class[data-class="0"]').click()
    page.shows(points=3000 - counts[0])
    page.locator('.class[data-class="5"]').click(modifiers=["Alt"])
    page.shows(points=counts[5])
    assert "of 3,000 shown" in page.locator(".caption").inner_text()
    page.locator('.class[data-class="5"]').click(modifiers=["Alt"])
    page.shows(points=3000)

    # Of visible classes it selects the enclosed points.
    page.locator('.class[data-class="3"]').click()
    page.wait_for_function("map().model.hidden.has(3)")
    page.locator(".view > summary").click()
    page.locator("[data-tool=box]").click()
    assert page.locator(".view[open]").count() == 0, "the menu covers what is clicked next"
    box = page.locator(".overlay").bounding_box()
    corners = [box["x"] + 200, box["y"] + 80, box["x"] + 620, box["y"] + 330]
    page.mouse.move(*corners[:2])
    page.mouse.down()
    page.mouse.move(*corners[2:], steps=6)
    page.mouse.up()
    page.wait_for_function("store.state.selected !== null")
    mask = np.array(page.evaluate("[...store.state.selected]"))
    page.rests()
    places = np.array(page.evaluate("[...Array(3000).keys()].map((i) => map().clientOf(i))"))
    labels = np.array(page.evaluate("[...map().model.labels]"))
    inside = ((places > corners[:2]) & (places < corners[2:])).all(1) & (labels != 3)
    # Points on the edge may fall to either side by the rounding of positions.
    near_edge = (np.abs(places[:, None] - np.array(corners).reshape(1, 2, 2)) < 0.5).any((1, 2))
    assert (mask.astype(bool) == inside)[~near_edge].all()
    assert mask.sum() > 100
    assert page.tells("selected") == str(mask.sum())

    # The selection alone, and step by step back to where it began.
    page.locator("[data-tool=isolate]").click()
    page.shows(points=mask.sum(), selected=0)
    page.locator("[data-tool=undo]").click()
    page.shows(selected=mask.sum())
    page.locator("[data-tool=undo]").click()
    page.shows(selected=0)
    page.locator("[data-tool=undo]").click()
    page.shows(points=3000)
    page.locator("[data-tool=redo]").click()
    page.wait_for_function("map().model.hidden.has(3)")
    page.locator(".view > summary").click()
    page.locator("[data-tool=pictures]").click()
    page.wait_for_function("map().overlay.pictures.size > 10")
    page.locator("[data-tool=density]").click()
    page.shows(contours="drawn")


def test_a_finger_taps_pans_and_pinches_on_a_phone(open_map):
    page = open_map("?n=3000", width=390, height=844, has_touch=True, is_mobile=True)
    page.shows(points=3000)
    page.rests()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    x, y = page.place(42)
    page.touchscreen.tap(x, y)
    page.wait_for_function("map().model.pinned !== null")
    page.wait_for_selector(".card:not([hidden])")
    session = page.context.new_cdp_session(page.tab)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        spots = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    touch("touchStart", (150, 300), (250, 300))
    for step in range(10):
        touch("touchMove", (150 - 8 * step, 300), (250 + 8 * step, 300))
    touch("touchEnd")
    page.rests()
    assert page.evaluate("map().scene.camera.zoomed") > 1.8
    before = page.place(42)
    touch("touchStart", (200, 300))
    for step in range(1, 11):
        touch("touchMove", (200 + 5 * step, 300 + 3 * step))
    touch("touchEnd")
    page.rests()
    assert page.place(42) == pytest.approx((before[0] + 50, before[1] + 30), abs=6)


def test_of_a_new_run_nothing_is_asked_before_its_map_has_a_step(open_map, until):
    page, asked = open_map("?n=500"), []
    page.shows(state="finished")
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("store.set({ pinned: 3 })")
    until(lambda: any("run500/neighbors/3.json" in url for url in asked), what="its neighbors are not asked for")
    page.evaluate("update({ run: 'other', begun: 'now', events_url: 'dmlviz/nowhere' })")
    page.shows(run="other", pinned="3", state="waiting")
    page.wait_for_timeout(300)
    assert not [url for url in asked if "other/neighbors" in url]
