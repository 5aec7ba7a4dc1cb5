"""What the map draws, in a real Chromium, without Streamlit: live, replayed, with and without WebGL."""

import pytest

from tests.waiting import until

pytestmark = pytest.mark.browser


def test_a_finished_run_stands_still_through_updates_from_python_and_without_labels_it_has_no_errors(open_map):
    page = open_map("?n=3000&autoplay=1", motion=False)  # who wants stillness sees nothing play
    page.shows(state="finished", step=600, points=3000, frame=50, playing="false", renderer="webgl2")
    assert page.said("rerun") == []
    assert page.locator(".caption").inner_text() == "3,000 test images"
    page.mouse.move(500, 300)
    page.mouse.wheel(0, -200)
    page.rests()
    before = page.evaluate("[map().id, map().scene.camera.view, map().playback.player.position]")
    page.evaluate("store.set({ pinned: 7 }); dark(true); dark(false)")
    page.rests()
    assert page.evaluate("[map().id, map().scene.camera.view, map().playback.player.position]") == before
    assert page.tells("pinned") == "7"

    # An image of one's own is a star at its position.
    page.evaluate("update({ query: { xy: [0.3, 0.2], neighbors: [5] } })")
    page.rests()
    assert page.evaluate("map().marker.at(1)") == [0.3, 0.2]
    page.evaluate("update({ query: null })")
    page.rests()
    assert page.evaluate("map().marker.at(1)") is None

    # Points without labels have no errors and no centers to be colored by.
    error = page.locator(".color-by option[value=error]")
    assert not error.is_disabled()
    own = "{ dataset: 'own', classes: ['no label'], labels: Array(3000).fill(0), labels_url: undefined }"
    page.evaluate(f"update({own}); store.set({{ color: 'error' }})")
    until(lambda: error.is_disabled() and "there are no labels" in error.get_attribute("title"))
    assert page.tells("color") == "class"

    # A cleanup removes the map only when its place has left the page.
    page.evaluate("cleanups.at(-1)(); update()")  # as Streamlit does with a call that a newer one has overtaken
    assert page.tells("mounts") == "1"
    page.evaluate("window.root = document.querySelector('#host').shadowRoot; root.host.remove(); cleanups.at(-1)()")
    assert page.evaluate("root.querySelector('.map')") is None


def test_a_live_run_is_followed_to_its_end_without_moving_the_camera_and_says_so_once(open_map):
    page = open_map("?n=3000&live=1&pace=0.15")
    assert page.tells("points") == "2000"
    assert "2,000 of 3,000 test images" in page.locator(".caption").inner_text()
    box = page.locator(".overlay").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    page.mouse.wheel(0, -30)
    view = page.evaluate("map().scene.camera.view")
    page.shows(state="finished", points=3000, step=600)
    page.wait_for_function("said.length > 0")
    page.evaluate("update(); update({ running: false })")
    page.rests()
    assert page.evaluate("said") == [["rerun", True]]
    assert page.tells("mounts") == "1"
    assert page.evaluate("map().scene.camera.view") == view
    page.locator("[data-tool=home]").click()
    page.rests()
    assert page.evaluate("map().scene.camera.view") != view


def test_a_bundled_run_plays_by_itself_and_the_player_steps_and_scrubs(open_map):
    page = open_map("?n=3000&autoplay=1")
    page.shows(playing="true")
    page.locator(".track").press("End")
    page.shows(points=3000, frame=50, playing="false")
    page.keyboard.press("Tab")
    page.locator(".overlay").focus()
    page.keyboard.press(",")
    page.shows(frame=49, step=page.evaluate("map().playback.entries[49].step"), points=2000)
    page.locator(".track").press("Home")
    page.shows(frame=0, step=0)
    page.locator(".player .play").click()
    page.shows(playing="true")
    page.wait_for_function("map().playback.player.position > 1.2")
    page.keyboard.press("Space")
    page.shows(playing="false")
    assert page.evaluate("Number.isInteger(map().playback.player.position)")
    box = page.locator(".track").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 1, box["y"] + 10)
    page.shows(frame=50, points=3000)
    assert page.locator(".player .label").inner_text() == "step 600 of 600"

    # Back from another view it does not play once more.
    page.evaluate("update({ view: 'p' })")
    page.shows(view="p", state="finished")
    page.evaluate("update({ view: 'live' })")
    page.wait_for_function("!map().playback.isIterativeLayout && map().playback.shown")
    assert page.evaluate("map().playback.shown.step") == 600


def test_canvas_2d_replaces_a_missing_webgl(open_map):
    page = open_map("?n=3000&renderer=canvas")
    page.shows(renderer="canvas", points=3000)
    page.rests()
    drawn = (
        "() => { const { canvas, context } = map().scene.renderer; const { data } = context.getImageData(0, 0, "
        "canvas.width, canvas.height); return data.reduce((n, v, i) => n + (i % 4 === 3 && v > 0), 0); }"
    )
    assert page.evaluate(drawn) > 3000


def test_a_hover_draws_no_points_again_and_a_lost_graphics_context_all(open_map):
    page = open_map("?n=3000")
    page.shows(points=3000)
    page.rests()
    counts = """() => {
      const { scene, interaction } = map();
      let count = 0;
      const draw = scene.renderer.draw.bind(scene.renderer);
      scene.renderer.draw = (moment) => { count++; draw(moment); };
      const after = (act) => { act(); scene.drawNow(); return count; };
      scene.drawNow();
      count = 0;
      const hovered = after(() => interaction.setHovered(5));
      return [hovered, after(() => scene.camera.pan(9, 0)), after(() => map().painter.repaint())];
    }"""
    assert page.evaluate(counts) == [0, 1, 2]

    # A lost graphics context comes back with all points.
    ink = """() => {
      const { gl, canvas } = map().scene.renderer;
      map().painter.repaint(); // points that have not changed are not drawn again
      map().scene.drawNow();
      const pixels = new Uint8Array(4 * canvas.width * canvas.height);
      gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
      return pixels.reduce((n, v, i) => n + (i % 4 === 3 && v > 0), 0);
    }"""
    before = page.evaluate(ink)
    assert before > 3000
    page.evaluate("""() => {
      const { canvas, gl } = map().scene.renderer, extension = gl.getExtension("WEBGL_lose_context");
      const restore = () => setTimeout(() => extension.restoreContext(), 50); // not before the page knows of the loss
      canvas.addEventListener("webglcontextlost", restore, { once: true });
      canvas.addEventListener("webglcontextrestored", () => (window.restored = true));
      extension.loseContext();
    }""")
    page.wait_for_function("window.restored")
    page.wait_for_timeout(100)
    assert page.evaluate(ink) == pytest.approx(before, rel=0.01)


def test_changing_the_view_animates_the_points(open_map):
    page = open_map("?n=3000")
    page.shows(points=3000)
    page.rests()
    page.evaluate("update({ view: 'p', query: { xy: [3, 4], neighbors: [] } })")
    page.shows(view="p", state="finished", frame=19, step=20)
    page.rests()
    on_stage = """() => {
      const { scene, model } = map();
      const seen = [...Array(model.n).keys()].map((i) => scene.screenOf(i));
      const spread = (axis) => Math.max(...seen.map((p) => p[axis])) - Math.min(...seen.map((p) => p[axis]));
      return Math.max(spread(0) / scene.port.width, spread(1) / scene.port.height);
    }"""
    assert 0.5 < page.evaluate(on_stage) <= 1
    page.locator(".track").press("Home")
    page.shows(frame=0, step=1)
    page.rests()
    assert 0.5 < page.evaluate(on_stage) <= 1
    assert page.evaluate("map().marker.at(1)") is None  # the query's place belongs to the last frame
    for _ in range(2):
        page.locator(".player .speed").click()  # 4×: in three seconds, not eleven
    page.evaluate(
        "window.spreads = []; const measure = " + on_stage + "; window.watch = setInterval(() => "
        "spreads.push(measure()), 15); map().actions.run(['play'])"
    )
    page.shows(frame=19, playing="false")
    page.evaluate("clearInterval(watch)")
    spreads = page.evaluate("spreads")
    assert len(spreads) > 5
    assert min(spreads) > 0.4
    assert max(spreads) < 1.3
    page.evaluate("update({ view: 'live', query: null })")
    page.shows(view="live", step=600, points=3000)


def test_no_sentence_covers_a_point_of_a_narrow_map(open_map):
    page = open_map("?n=3000&autoplay=1", 390, 844, motion=False)
    page.shows(state="finished")
    height = page.locator(".stage").bounding_box()["height"]
    page.evaluate(
        """() => {
          const alarm = { alarm: "collapsed", from: 0, until: null, sentence: "Embeddings have collapsed. ".repeat(4) };
          map().playback.timeline.alarms.push({ ...alarm, remedies: ["a margin of 1"] });
          update({ notices: ["The worker was killed. ".repeat(5)] });
        }"""
    )
    page.locator(".alarm").wait_for()
    page.rests()
    assert page.locator(".stage").bounding_box()["height"] > height  # what they take, a phone's map has beside
    places = [page.place(item) for item in range(0, 3000, 10)]
    boxes = [page.locator(part).bounding_box() for part in (".notices", ".alarm")]
    assert not [y for _, y in places for box in boxes if box["y"] < y < box["y"] + box["height"]]
