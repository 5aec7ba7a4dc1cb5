"""What users do, in a real browser, against a real server that really trains."""

import io
import re
import struct
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from dmlviz.config import TrainConfig
from dmlviz.data.embedding_file import LabeledEmbeddings
from dmlviz.runs.import_embeddings import import_embeddings
from dmlviz.runs.store import Runs
from tests.browser.person import ONE, SEVEN, drag
from tests.waiting import until

pytestmark = pytest.mark.browser

# Keeps each frame that is shown while a run trains: who asks now and then comes too late for a short training.
NOTE_FRAMES = """root => {
  root.frames = new Set();
  const note = ({ run, frame, state }) => state === "running" && root.frames.add(`${run} ${frame}`);
  new MutationObserver(() => note(root.dataset)).observe(root, { attributeFilter: ["data-frame"] });
}"""
CONFIDENCE = re.compile("Surely|Perhaps|Unlike anything here")


def test_training_moves_the_map_without_a_jump(visit, runs):
    person = visit(motion=True)
    person.open("?dataset=digits&net=mlp&steps=120&seed=3&num_snapshots=15")
    person.map.evaluate(NOTE_FRAMES)
    run = person.press_train()
    expect(person.words).to_contain_text(re.compile("step", re.IGNORECASE))
    person.map.locator(".overlay").hover()
    person.page.mouse.wheel(0, -300)
    person.map_has("state", "finished")
    frames = person.map.evaluate("root => [...root.frames]")
    assert sum(frame.startswith(run) for frame in frames) >= 3, f"the map does not move: {frames}"
    config = Runs(runs).get(run).config
    assert config == TrainConfig(dataset="digits", net="mlp", steps=120, seed=3, num_snapshots=15)
    until(lambda: person.of_map("points") == "596")
    caption = person.page.locator(".scores .about p")
    words = r"On all [\d,]+ test images, after 120 steps; validation: [\d,]+ images"
    expect(caption).to_contain_text(re.compile(words))
    expect(person.page.locator('.scores [data-score="precision_at_1"] [data-group="validation"]')).to_be_visible()
    assert float(person.score("precision_at_1")) > 0.9
    assert person.of_map("mounts") == "1"
    expect(person.page.locator(".loss-curve")).to_have_attribute("data-points", "120")
    expect(person.page.get_by_role("button", name="Stop", exact=True)).to_be_hidden()


def test_a_run_is_found_again_after_a_refresh_and_from_another_tab_stopped_begun_again_and_asked(person, runs):
    run = person.train("dataset=digits&net=mlp&steps=40000&num_snapshots=200&sampler=unhurried")
    until(lambda: int(person.of_map("step") or 0) > 5)
    person.page.reload()
    person.map_has("ready", "true")
    person.map_has("run", run)
    seen = int(person.of_map("step") or 0)
    until(lambda: int(person.of_map("step") or 0) > seen, what="no new frame after the refresh")
    address, first = person.page.url, person.page
    person.page = person.tab()
    person.page.goto(address)
    person.map_has("run", run)
    person.map_has("state", "running")
    person.page.get_by_role("button", name="Distance distribution", exact=True).click()  # the page's script is at work
    person.page.locator(".progress .stop").click()
    person.page.goto("about:blank")  # at once
    person.page = first
    person.map_has("state", "stopped")
    expect(person.words).to_contain_text("Stopped at step")
    expect(first.locator(".inspector button.row")).to_have_count(10)  # nothing more is asked of what ends now
    assert (runs / run / "embeddings.npy").exists()
    person.press("Train")
    person.map_has("state", "running")
    assert person.of_map("run") == run
    until(lambda: int(person.of_map("step") or 0) > 0)

    # A drawing is asked again at each snapshot.
    person.inspect("Draw")
    drag(first.locator(".query-pad[data-ready=true] canvas"), *ONE)
    inspector, asked = first.locator(".inspector"), re.compile(r"at step ([\d,]+)")
    expect(inspector).to_contain_text(asked)
    then = asked.search(inspector.inner_text()).group()
    until(lambda: then not in inspector.inner_text(), what="it is not asked again")
    until(lambda: len(person.map.evaluate("root => root.map.marker.query?.trajectory ?? []")) > 1, what="no way")
    until(lambda: person.map.evaluate("root => root.map.marker.to"), what="no star on the map")
    person.press("Stop")
    person.map_has("state", "stopped")
    expect(inspector).to_contain_text("at the end of the run")
    until(lambda: person.map.evaluate("root => root.map.marker.to"), what="no star at the end")
    person.press("Clear")


def fits(part, height):
    box = part.bounding_box()
    return box["y"] >= 0 and box["y"] + box["height"] <= height


def test_a_pin_shows_neighbors_that_fit_a_projector_and_a_selection_survives_a_reload(person, digits_run):
    person.open(f"?run={digits_run.id}")
    person.map_has("points", "596")
    person.page.keyboard.press("Escape")
    x, y = person.place_of(10)
    person.page.mouse.click(x, y)
    person.map_has("pinned", re.compile(r"\d+"))
    pinned = int(person.of_map("pinned"))
    inspector = person.page.locator(".inspector")
    expect(inspector).to_have_attribute("data-subject", str(pinned))
    rows = inspector.locator("button.row")
    expect(rows).to_have_count(10)
    shown = [int(row.get_attribute("data-item")) for row in rows.all()]
    assert shown == [neighbor.item for neighbor in digits_run.neighbors(pinned, 10)]
    expect(person.page).to_have_url(re.compile(rf"pin={pinned}(&|$)"))
    for width, height in ((1440, 900), (1280, 720)):
        person.page.set_viewport_size({"width": width, "height": height})
        until(lambda width=width: person.map.bounding_box()["width"] > 0.6 * (width - 300), what="the map is small")
        for part in (".map .moment", ".map .player", ".inspector", '[data-testid="stSidebar"]'):
            until(partial(fits, person.page.locator(part), height), 60, f"{part} is cut off at {width} × {height}")
        expect(rows.last).to_be_in_viewport(ratio=0.99)
    rows.nth(2).click()
    person.map_has("pinned", str(shown[2]))
    expect(inspector).to_have_attribute("data-subject", str(shown[2]))
    expect(person.page).to_have_url(re.compile(rf"pin={shown[2]}(&|$)"))

    person.page.keyboard.down("Shift")
    corners = (0.25, 0.2), (0.95, 0.2), (0.95, 0.9), (0.25, 0.9), (0.25, 0.2)  # below the tools
    drag(person.map.locator(".overlay"), *corners)
    person.page.keyboard.up("Shift")
    until(lambda: int(person.of_map("selected") or 0) > 100)

    person.page.mouse.wheel(0, -300)
    until(lambda: person.map.evaluate("root => !root.map.scene.camera.target && root.map.scene.camera.zoomed > 1.5"))
    left = person.of_map("selected"), person.map.evaluate("root => root.map.scene.camera.view.k")
    for page, part in (("Learn", ".st-key-learn"), ("Explore", ".map[data-ready=true]")):
        person.page.get_by_test_id("stPageLink-NavLink").filter(has_text=re.compile(f"^{page}$")).click()
        person.page.locator(part).wait_for()
    person.map_has("selected", left[0])
    until(lambda: person.map.evaluate("root => root.map.scene.camera.view?.k") == pytest.approx(left[1]))

    expect(person.page).to_have_url(re.compile("select=digits"))  # for who is given the address, too
    person.page.reload()
    person.map_has("pinned", str(shown[2]))
    person.map_has("selected", left[0])
    assert person.of_map("mounts") == "1"
    expect(inspector).to_have_attribute("data-selected", left[0])
    person.map.locator(".overlay").press("Escape")
    person.map_has("selected", "0")
    expect(person.page).not_to_have_url(re.compile("select="))


def test_nothing_that_happens_on_the_map_runs_a_script(person, runs, digits_run):
    sent = []
    person.page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    person.open(f"?run={digits_run.id}")
    expect(person.page.locator(".scores [data-score=precision_at_1] .value")).not_to_have_text("–")
    before = 0
    while len(sent) != before:  # the page has been asked for, and is at rest
        before = len(sent)
        person.page.wait_for_timeout(800)
    person.page.mouse.click(*person.place_of(10))
    expect(person.page.locator(".inspector button.row")).to_have_count(10)
    person.page.locator("[data-score=precision_at_1]").click()
    person.page.locator(".map .class[data-class='3']").click()
    person.page.locator(".map .view > summary").click()
    person.page.locator(".map .color-by select").select_option("error")
    person.page.locator(".loss-curve svg").press("Home")
    person.map_has("step", "0")
    expect(person.page).to_have_url(re.compile("pin=.*step=0.*color=error.*hide=digits.3"))
    person.page.keyboard.press("g")
    expect(person.page.locator(".map .full-headline")).to_contain_text(Runs(runs).get(digits_run.id).title)
    person.page.wait_for_timeout(1000)
    assert len(sent) == before


def test_a_drawn_digit_gets_neighbors_a_vote_and_a_star(person, digits_run):
    person.open(f"?run={digits_run.id}")
    person.inspect("Draw")
    drag(person.page.locator(".query-pad[data-ready=true] canvas"), *SEVEN)
    inspector = person.page.locator(".inspector")
    expect(inspector).to_have_attribute("data-subject", "query")
    expect(inspector.locator("strong").first).to_contain_text(CONFIDENCE)
    expect(inspector.locator("button.row")).to_have_count(10)
    expect(inspector.locator(".strip li").nth(2)).to_be_visible()
    if not inspector.locator(".far").count():  # a warning may take the room of a row
        assert inspector.evaluate("root => root.scrollHeight - root.clientHeight") <= 0, "a row of neighbors is cut off"
    until(lambda: person.map.evaluate("root => root.map.marker.to"), what="no star on the map")
    inspector.get_by_role("button", name="Neighbors over time").click()
    history = person.page.locator(".detail[data-what=history]")
    expect(history).to_contain_text("Yours")
    expect(history.locator(".history button")).to_have_count(len(digits_run.checkpoint_steps) + 1)
    expect(history.locator(".history button").last.locator(".frame")).to_have_count(10)
    person.choose("PCA")  # drawn only now, after the answer was given
    person.map_has("view", re.compile("[0-9a-f]{16}"))
    person.map_has("state", "finished")
    until(lambda: person.map.evaluate("root => root.map.marker.to"), what="no star on the new map")
    person.choose("Class fan")
    person.press("Clear")
    expect(inspector).to_have_attribute("data-subject", "")
    until(lambda: not person.map.evaluate("root => root.map.marker.to"), what="a star without a drawing")
    page = person.page
    card, box = page.locator(".map .here"), person.map.locator(".overlay").bounding_box()
    person.map.locator(".overlay").focus()
    page.keyboard.press(" ")  # it is asked at the end of the replay
    page.keyboard.press("q")
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    expect(card).to_contain_text("No picture: a mixture of these 5")
    expect(card.locator("li .picture")).to_have_count(5)
    expect(card).to_contain_text(re.compile("The net puts this mixture (here|at the ring)"))
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    person.map_has("mode", "here")
    page.keyboard.press("Escape")
    person.map_has("mode", "pan")


def test_a_drawing_is_kept_found_again_after_a_reload_also_on_a_phone_and_removed(person, digits_run):
    from PIL import Image, ImageDraw

    page, inspector, kept = person.page, person.page.locator(".inspector"), person.page.locator(".gallery .pictures li")

    def draw(shift=0.0):
        person.inspect("Draw")
        crown = [(0.15, 0.3), (0.3, 0.7), (0.5, 0.3), (0.7, 0.7), (0.85, 0.3)]  # in one stroke: there is one answer
        drag(page.locator(".query-pad[data-ready=true] canvas"), *((x + shift, y) for x, y in crown))
        expect(inspector).to_have_attribute("data-subject", "query")

    person.open(f"?run={digits_run.id}")
    draw()
    expect(inspector.locator(".keep")).to_be_visible()
    inspector.locator(".keep input[name=name]").fill("<b>crown</b>")
    inspector.locator(".keep input[name=name]").press("Enter")
    expect(kept).to_have_count(1)
    expect(kept.locator(".name")).to_have_text("<b>crown</b>")
    expect(inspector.locator("strong").first).to_have_text("Like your “<b>crown</b>”")
    page.reload()
    person.map_has("ready", "true")
    draw(0.03)
    expect(inspector.locator(".row.kept")).to_contain_text("<b>crown</b>")
    expect(inspector.locator("strong").first).to_have_text("Like your “<b>crown</b>”")
    places = "root => root.map.overlay.galleryPlaces(root.map.scene)"
    until(lambda: len(person.map.evaluate(places)) == 1, what="no mark on the map")
    box, [place] = person.map.locator(".overlay").bounding_box(), person.map.evaluate(places)
    page.mouse.move(box["x"] + place[0], box["y"] + place[1])
    until(lambda: person.map.evaluate("root => root.map.overlay.parts.pointed().kept") == 0, what="no name there")
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    draw()
    expect(inspector.locator(".row.kept")).to_contain_text("<b>crown</b>")
    person.inspect("Upload")
    person.provoked.append("422")  # of what is no picture
    dot = Image.new("L", (90, 90), 255)
    ImageDraw.Draw(dot).ellipse((30, 30, 60, 60), fill=0)
    file = io.BytesIO()
    dot.save(file, "PNG")
    files = [("dot.png", file.getvalue()), ("text.png", b"no picture"), ("again.png", file.getvalue())]
    page.locator(".query input[type=file]").set_input_files(
        [{"name": name, "mimeType": "image/png", "buffer": content} for name, content in files]
    )
    inspector.locator(".keep input[name=name]").fill("dot")
    inspector.get_by_role("button", name="Keep", exact=True).click()
    said = inspector.locator(".gallery .said")
    expect(said.locator("li")).to_have_count(3)
    expect(said).to_contain_text("text.png: A picture is a PNG")
    expect(kept).to_have_count(2)  # the same picture is kept once
    put = page.locator(".query input[type=file]")
    put.set_input_files({"name": "all.zip", "mimeType": "application/zip", "buffer": b"PK\5\6" + bytes(18)})
    expect(inspector.get_by_role("button", name="Add", exact=True)).to_be_visible()
    put.set_input_files({"name": "dot.png", "mimeType": "image/png", "buffer": file.getvalue()})
    expect(inspector.get_by_role("button", name="Keep", exact=True)).to_be_visible()  # not the zip
    expect(said).to_have_count(0)
    page.locator(".new-batch select").select_option("")
    page.locator(".new-batch button[type=submit]").click()
    expect(page.locator(".new-batch .result")).to_contain_text("2 new images over the 596 test images")
    assert len(person.map.evaluate("root => root.map.overlay.newBatchPlaces(root.map.scene)")) == 2
    for left in (1, 0):
        kept.first.get_by_role("button").click()
        expect(kept).to_have_count(left)


def test_an_uploaded_image_is_answered_a_hostile_one_is_one_sentence_and_a_photograph_is_framed(person, digits_run):
    from PIL import Image, ImageDraw

    person.provoked.append("422")  # of what is refused, or is blank
    person.open(f"?run={digits_run.id}")
    person.inspect("Upload")
    person.press("a seven")
    expect(person.page.locator(".inspector strong").first).to_contain_text(CONFIDENCE)
    expect(person.page.locator(".inspector")).to_contain_text("neighbors are of class 7")
    title = person.page.locator(".inspector strong").first
    expect(title).to_have_attribute("title", re.compile("Calibrated on 596 test images"))
    inspected = person.page.locator(".inspector .strip li:last-child canvas")
    sample = inspected.evaluate("canvas => canvas.toDataURL()")
    picture = Image.new("RGB", (300, 400), "white")
    ImageDraw.Draw(picture).line([(90, 80), (210, 80), (140, 330)], fill="black", width=36)
    file = io.BytesIO()
    picture.save(file, "PNG")
    put = person.page.locator(".query input[type=file]")
    put.set_input_files({"name": "seven.png", "mimeType": "image/png", "buffer": file.getvalue()})
    until(lambda: inspected.evaluate("canvas => canvas.toDataURL()") != sample, what="no answer to the upload")
    expect(person.page.locator(".inspector strong").first).to_contain_text(CONFIDENCE)
    refused = person.page.locator(".query .refused")
    put.set_input_files({"name": "bomb.png", "mimeType": "image/png", "buffer": bomb(30_000)})
    expect(refused).to_contain_text("bomb.png: A picture has up to 50 megapixels")
    put.set_input_files({"name": "text.png", "mimeType": "image/png", "buffer": b"this is no picture"})
    expect(refused).to_contain_text("text.png: A picture is a PNG, JPEG, WebP, BMP, GIF, TIFF, HEIC or AVIF file")
    expect(refused).not_to_contain_text("bomb.png")
    put.set_input_files({"name": "seven.png", "mimeType": "image/png", "buffer": file.getvalue()})
    expect(refused).to_have_text("")
    expect(person.page.locator(".map")).to_be_visible()

    # A photograph of two digits is dropped on the map, and the answer follows its frame.
    person.inspect("Selected")
    photograph = Image.new("L", (1200, 900), 210)
    draw = ImageDraw.Draw(photograph)
    draw.line([(200, 250), (380, 250), (280, 600)], fill=40, width=44)  # a seven
    draw.line([(900, 230), (900, 640)], fill=40, width=44)  # a one
    noisy = np.asarray(photograph) + np.random.default_rng(0).normal(0, 4, (900, 1200))  # as of a camera
    file = io.BytesIO()
    Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(file, "JPEG")
    page = person.page
    person.drop("photograph.jpg", file.getvalue(), "image/jpeg")
    inspector, framed = page.locator(".inspector"), page.locator(".framed")
    expect(inspector).to_have_attribute("data-tab", "Upload")
    expect(inspector).to_have_attribute("data-subject", "query")
    expect(page.locator(".query .found")).to_have_count(1)
    first = framed.get_attribute("data-frame")
    steps = inspector.locator(".strip li:last-child canvas")
    seen = steps.evaluate("canvas => canvas.toDataURL()")
    page.locator(".query .found").press("Enter")
    until(lambda: steps.evaluate("canvas => canvas.toDataURL()") != seen, what="no answer to the other frame")
    assert framed.get_attribute("data-frame") != first
    frame = page.locator(".query .frame")
    expect(frame).to_be_focused()
    for key, name in (("ArrowUp", 1), ("+", 2), ("]", 4)):
        before = framed.get_attribute("data-frame").split()[name]
        frame.press(key)
        until(lambda name=name, before=before: framed.get_attribute("data-frame").split()[name] != before)
    box = frame.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    # Onto blank paper, where nothing is found, and back to the one.
    for start, stop, is_there in ((x, x - 30, lambda place: place < 0.7), (x - 30, x, lambda place: place > 0.7)):
        page.mouse.move(start, y)
        page.mouse.down()
        page.mouse.move(stop, y, steps=4)
        page.mouse.up()
        until(lambda is_there=is_there: is_there(float(framed.get_attribute("data-frame").split()[0])))
    until(lambda: person.map.evaluate("root => root.map.marker.to"), what="no star where the one is framed again")
    person.inspect("Selected")
    until(lambda: not person.map.evaluate("root => root.map.marker.to"), what="a star without a query")
    person.inspect("Upload")
    until(lambda: person.map.evaluate("root => root.map.marker.to"), what="no star when the tab is open again")

    dragged = {"items": [], "files": [str(Path(__file__).parent)], "dragOperationsMask": 1}
    for moment in ("dragEnter", "dragOver", "drop"):
        page.context.new_cdp_session(page).send(
            "Input.dispatchDragEvent", {"type": moment, "x": 300, "y": 300, "data": dragged}
        )
        expect(page.locator(".drop-here")).to_contain_text("Drop the picture" if moment == "dragOver" else "")
    expect(refused).to_contain_text("browser: This is a folder.")


def bomb(side):
    """A PNG of few bytes that announces side × side pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


def test_points_move_while_a_person_drags_a_setting_and_the_map_is_drawn_with_it(person, digits_run):
    page, places = person.page, "root => [...root.map.scene.places().slice(0, 20)]"
    person.open(f"?run={digits_run.id}&view=tsne&view.iterations=100")
    person.map_has("view", re.compile("[0-9a-f]{16}"))
    person.map_has("state", "finished")
    page.locator(".map .toolbar summary").click()
    before, start = person.of_map("view"), person.map.evaluate(places)
    box = page.locator(".map .settings input[aria-label='Perplexity']").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2, steps=4)
    until(lambda: person.map.evaluate("root => root.map.playback.moved !== null"), what="no points moved")
    until(lambda: person.map.evaluate(places) != start, what="the points stand still")
    expect(page.locator(".map .caption")).to_contain_text("you move these")
    person.map_has("view", before)
    page.mouse.up()
    expect(page).to_have_url(re.compile("view.perplexity="))
    person.map_has("view", re.compile(f"^(?!{before})[0-9a-f]{{16}}"))
    person.map_has("state", "finished")
    until(lambda: person.map.evaluate("root => root.map.playback.moved === null"), what="what was moved stays")
    expect(page.locator(".map .foot")).to_contain_text("of 10 neighbors")
    slider = page.locator(".map .settings input[aria-label='Perplexity']")
    value = int(slider.input_value())
    for count in range(8):  # each was a map of its own, the slider lost the focus, and the keys went on to the map
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(900 * (count % 4 == 3))
    expect(page).to_have_url(re.compile(rf"view.perplexity={value - 8}\b"))
    expect(slider).to_be_focused()
    assert int(slider.input_value()) == value - 8
    person.map_has("state", "finished")
    assert not person.of_map("pinned")


def test_a_umap_learn_map_shows_its_phase_and_its_quality(person, runs):
    """The server of these stories runs umap-learn without its compiler, which would take two minutes."""
    page, labels = person.page, np.arange(120) % 3
    rows = np.random.default_rng(0).normal(size=(120, 8)).astype(np.float32) + 2 * labels[:, None]
    few = import_embeddings(Runs(runs), LabeledEmbeddings(rows, labels, ("a", "b", "c")), "few rows")
    person.open(f"?run={few.id}&view=umap&view.iterations=10")
    person.map_has("state", "finished")
    person.press("Parameters")
    form = page.get_by_test_id("stPopoverBody")
    form.get_by_text("umap-learn", exact=True).click()
    expect(page.get_by_label("Spread", exact=True)).to_be_visible()  # only this engine has it: its form is there now
    page.get_by_role("spinbutton", name="Neighbors", exact=True).fill("5")
    page.get_by_label("Iterations", exact=True).fill("10")
    form.get_by_text("Supervised", exact=True).click()
    person.press("Draw")
    expect(person.words).to_have_text("umap-learn is compiling, which can take a minute or two")
    expect(page).to_have_url(re.compile("map.engine=reference"))
    expect(person.words).to_contain_text("UMAP by umap-learn: 10 iterations")
    person.map_has("state", "finished")
    person.map_has("points", "120")
    foot = page.locator(".map .foot")
    expect(foot).to_contain_text("trustworthiness")
    expect(foot).to_contain_text("UMAP by umap-learn")
    expect(foot).to_contain_text("It was drawn with the classes")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_have_count(0)

    form.get_by_text("dmlviz and umap-learn side by side", exact=True).click()
    person.press("Parameters")  # the form would lie on the map
    expect(form).to_have_count(0)
    expect(page).to_have_url(re.compile("beside=1"))
    second = page.locator(".map").nth(1)
    expect(second).to_have_attribute("data-state", "finished", timeout=60_000)
    expect(second.locator(".foot")).to_contain_text("trustworthiness")
    expect(foot.first).to_contain_text("trustworthiness")
    expect(page.get_by_text("dmlviz · neighbors 5")).to_be_visible()
    expect(page.locator(".progress")).to_have_count(1)  # that of the second map, above it, has gone
    x, y = page.locator(".map").first.evaluate("(root, item) => root.map.clientOf(item)", 17)
    page.mouse.click(x, y)
    expect(page).to_have_url(re.compile("pin=17"))
    expect(second).to_have_attribute("data-pinned", "17")


def test_a_layout_is_paused_resumed_and_survives_its_worker(person, server, digits_run):
    person.open(f"?run={digits_run.id}&view=tsne&view.iterations=5000")
    until(lambda: int(person.of_map("step") or 0) > 20, what="the layout does not move")
    person.press("Pause")
    person.map_has("state", "stopped")
    expect(person.words).to_contain_text("Paused at iteration")
    paused = int(person.of_map("step"))
    person.press("Continue")
    person.map_has("state", "running")
    until(lambda: int(person.of_map("step") or 0) > paused + 20, what="the layout does not go on")
    server.kill_workers()
    expect(person.words).to_contain_text("The worker was killed")
    assert person.of_map("points") == "596"
    person.press("Cancel")
    person.map_has("view", "live")
    expect(person.page).not_to_have_url(re.compile("view="))
