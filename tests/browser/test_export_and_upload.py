"""A user exports a run as one file that plays anywhere, and uploads images."""

import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from playwright.sync_api import expect
from pyarrow import parquet

from dmlviz.catalog.datasets import DATASETS
from dmlviz.export import RunExport
from dmlviz.export.script import as_python
from dmlviz.runs.store import Runs
from tests.browser.accessibility import color_violations
from tests.browser.person import SLOW
from tests.waiting import until

pytestmark = pytest.mark.browser
COLOR_TWICE = """async ({ map: { state: { store } } }) => {
  const colors = [];
  for (const color of ["class", "center"]) {
    store.set({ color });
    await new Promise((resolve) => setTimeout(resolve, 20));
    colors.push(new URLSearchParams(location.search).get("color"));
  }
  return colors;
}"""
AT_REST = "({ map: { scene } }) => !scene.pending && !scene.clock && !scene.camera.target"


def test_an_exported_page_plays_without_server_or_network(person, chromium, runs, digits_run, tmp_path):
    person.open(f"?run={digits_run.id}")
    person.press("Export")
    panel = person.page.locator(".export")
    expect(panel.locator("pre").first).to_have_text(as_python(RunExport(Runs(runs).get(digits_run.id))).strip())
    assert color_violations(person.page, part="[class*=st-key-export]") == []  # the word, too
    with person.page.expect_download() as download:
        panel.get_by_role("link", name="Page to pass on").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.suffix == ".html"
    with person.page.expect_download() as video:
        panel.get_by_role("link", name="Film as a video").click()
    head = Path(video.value.path()).read_bytes()[:12]
    assert b"ftyp" in head or head.startswith(b"\x1aE\xdf\xa3")  # MP4, or WebM
    # Now, since the browser complains of a picture that was not closed once it is collected.
    person.page.context.new_cdp_session(person.page).send("HeapProfiler.collectGarbage")

    alone = chromium.new_context(viewport={"width": 1280, "height": 720}, color_scheme="dark", offline=True)
    alone.set_default_timeout(SLOW)
    page, said, asked = alone.new_page(), [], []
    # A driver that draws in software says once in a browser that it is slow.
    page.on("console", lambda message: "GL Driver Message" in message.text or said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    the_map = page.locator(".map")
    expect(the_map).to_have_attribute("data-ready", "true", timeout=60_000)
    expect(the_map).to_have_attribute("data-playing", "true")
    expect(the_map).to_have_class(re.compile("dark"))
    expect(page.get_by_role("heading", level=1)).to_have_text(digits_run.title)
    page.get_by_role("slider", name="Frame", exact=True).press("End")
    expect(the_map).to_have_attribute("data-step", "60")
    expect(the_map).to_have_attribute("data-points", "596")
    expect(page.locator("[data-score=precision_at_1] .value")).to_have_text(
        f"{digits_run.metrics['precision_at_1']:.3f}"
    )
    until(lambda: the_map.evaluate(AT_REST), what="the points do not come to rest")
    expect(page.locator(".inspector")).not_to_have_attribute("data-example", "")
    x, y = the_map.evaluate("(root) => root.map.clientOf(7)")
    page.mouse.click(x, y)
    inspector = page.locator(".inspector")
    expect(inspector).to_have_attribute("data-neighbors", "10")
    pinned = int(inspector.get_attribute("data-subject") or -1)
    near = [row.get_attribute("data-item") for row in inspector.locator(".row").all()]
    known = digits_run.neighbors(pinned, 10)
    assert near == [str(one.item) for one in known]
    inspector.locator(".row").nth(2).click()
    expect(the_map).to_have_attribute("data-pinned", near[2] or "")

    page.locator(".map .view > summary").click()
    page.locator(".map .color-by select").select_option("center")
    page.locator("[data-score=precision_at_1]").click()
    wrong = 596 - round(596 * digits_run.metrics["precision_at_1"])
    expect(the_map).to_have_attribute("data-selected", str(wrong))
    page.get_by_role("button", name="By class").click()
    expect(page.locator(".detail")).to_contain_text("On 596 test images")
    expect(page).to_have_url(re.compile("pin=.*select=.*color=center"))
    assert the_map.evaluate(COLOR_TWICE) == [None, "center"]  # a reload right after a choice keeps it
    page.reload()
    expect(the_map).to_have_attribute("data-selected", str(wrong), timeout=60_000)
    expect(the_map).to_have_attribute("data-pinned", near[2] or "")
    expect(page.locator(".map .color-by select")).to_have_value("center")
    page.locator(".loss-curve svg").press("Home")
    page.locator("[data-score=precision_at_1]").click()  # the page knows the images of the end alone, and says so
    expect(page.locator(".scores .about > summary")).to_contain_text("This page has no server")
    alone.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def shapes(count: int = 15) -> bytes:
    """A zip of so many squares and bars in color, of several sizes, with a file that is none."""
    packed, rng = io.BytesIO(), np.random.default_rng(0)
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("a bar", "a square"):
            for i in range(count):
                picture = np.full((40 + 2 * i, 60, 3), rng.integers(150, 256, 3), np.uint8)
                picture[8:32, 20 : 26 if name == "a bar" else 44] = rng.integers(0, 100, 3)
                file = io.BytesIO()
                Image.fromarray(picture).save(file, "PNG")
                archive.writestr(f"shapes/{name}/{i}.png", file.getvalue())
        archive.writestr("shapes/a bar/notes.txt", "no picture")
    return packed.getvalue()


def shops() -> bytes:
    """A Parquet file of vectors with three columns, two of words that recur, so that none is the label."""
    rng, file = np.random.default_rng(0), io.BytesIO()
    columns = {
        "shop": ["Lima", "Oslo"] * 30,
        "price": np.arange(60) / 4,
        "name": [f"Thing {i % 30}" for i in range(60)],
    }
    parquet.write_table(pa.table({"vector": rng.normal(size=(60, 5)).tolist()} | columns), file)
    return file.getvalue()


def test_uploaded_images_are_previewed_trained_on_and_shown(person, runs):
    person.open("?net=mlp&steps=30&num_snapshots=5")
    person.press("Upload data…")
    files = person.page.get_by_role("dialog").locator("input[type=file]")
    files.set_input_files({"name": "my_shapes.zip", "mimeType": "application/zip", "buffer": shapes()})
    look = person.page.locator(".import-preview")
    expect(look).to_have_attribute("data-classes", "2", timeout=60_000)
    expect(look.locator("td.name")).to_have_text(["a bar", "a square"])
    expect(look.locator(".tile")).to_have_count(16)
    expect(look).to_contain_text("1 file skipped")
    expect(look).to_contain_text("fitted whole into 32 × 32")
    person.press("Use this data set")
    expect(person.page).to_have_url(re.compile("dataset=custom-[0-9a-f]{16}"))
    run = person.press_train()
    person.map_has("state", "finished")
    person.map_has("points", "6")
    expect(person.map.locator(".class .name")).to_have_text(["a bar", "a square"])
    trained = Runs(runs).get(run)
    assert trained.title.startswith("my shapes")
    assert trained.config.dataset in person.page.url
    assert DATASETS[trained.config.dataset].channels == 3

    # A table of vectors without labels: colored, searched and selected by its columns.
    person.press("Upload data…")
    files.set_input_files({"name": "shops.parquet", "mimeType": "application/octet-stream", "buffer": shops()})
    expect(look).to_contain_text("Columns to color and search by: shop, price, name.", timeout=60_000)
    person.press("Open embeddings")
    person.map_has("points", "60")
    expect(person.map.locator(".moment")).to_have_text("")  # which said how the run before scores
    person.map.locator(".view > summary").click()
    for tool in ("Pictures", "Training set"):  # there is neither a picture nor a net
        expect(person.map.locator(".view .tool", has_text=tool)).to_be_hidden()
    expect(person.map.locator(".view .tool", has_text="What lies here?")).to_be_visible()
    person.drop("shops.parquet", shops())
    expect(person.page.locator(".new-batch .result")).to_contain_text("60 new rows over the 60 rows of shops")
    person.map.get_by_label("Color by").select_option("shop")
    person.map_has("color", "column.shop")
    expect(person.map.locator(".class .name")).to_have_text(["Lima", "Oslo"])
    person.map.locator(".class", has_text="Oslo").click()
    person.map_has("points", "30")
    person.map.locator(".class", has_text="Oslo").click()
    person.map.get_by_label("Color by").select_option("price")
    expect(person.map.locator(".scale-title")).to_have_text("price")
    person.page.locator(".st-key-table summary").click()
    search = person.page.get_by_role("textbox", name="Search")
    search.fill("thing 1")
    search.press("Enter")
    expect(person.page.get_by_text("22 of 60 rows")).to_be_visible()
    person.press("Select on the map")
    person.map_has("selected", "22")


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A file with random weights of a ResNet-18, of 47 MB, and one that is cut off."""
    import torch

    from dmlviz.nets.torchvision_operators import register_missing

    register_missing()
    models, folder = pytest.importorskip("torchvision.models"), tmp_path_factory.mktemp("weights")
    torch.save(models.get_model("resnet18", weights=None).state_dict(), folder / "resnet18.pth")
    (folder / "cut.pth").write_bytes((folder / "resnet18.pth").read_bytes()[:1000])
    return folder


def test_weights_are_uploaded_features_computed_and_a_head_trained_with_a_loss_of_a_long_formula(person, runs, weights):
    page, dialog = person.page, person.page.get_by_role("dialog")
    files = dialog.locator("input[type=file]")
    person.open("?steps=20&num_snapshots=5&loss=large_margin_softmax")
    formula = page.get_by_test_id("stSidebar").locator(".katex").first
    right = "getBoundingClientRect().right"
    expect(formula).to_be_visible()
    until(lambda: formula.evaluate(f"e => e.{right} <= e.closest('p').{right} + 1"), what="it is cut off")
    person.press("Upload data…")
    files.set_input_files({"name": "squares.zip", "mimeType": "application/zip", "buffer": shapes(8)})
    person.press("Use this data set")
    expect(page).to_have_url(re.compile("dataset=custom-[0-9a-f]{16}"))
    pictures = page.url.partition("dataset=")[2][:23]

    page.emulate_media(color_scheme="dark")  # a dialog has the grays of the theme, too
    person.press("Pretrained backbone…")
    expect(dialog.get_by_test_id("stCaptionContainer").locator("p").first).to_have_css("color", "rgb(166, 170, 179)")
    dialog.get_by_test_id("stRadio").get_by_text("Upload", exact=True).click()
    files.set_input_files(weights / "cut.pth")
    expect(dialog.get_by_text("cut.pth", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Compute features").click()
    expect(dialog.get_by_text("cut.pth is cut off or damaged")).to_be_visible()
    files.set_input_files(weights / "resnet18.pth")  # what was chosen is still there
    expect(dialog.get_by_text("resnet18.pth", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Compute features").click()
    expect(dialog.get_by_role("button", name="Compute features")).to_have_count(0)
    page.reload()  # nothing is lost
    expect(page).to_have_url(re.compile(rf"dataset=(?!{pictures})custom-[0-9a-f]{{16}}"))
    expect(page.get_by_test_id("stSidebar")).to_contain_text("ResNet-18 made 512 features of each image")

    run = person.press_train()
    person.map_has("state", "finished")
    trained = Runs(runs).get(run)
    person.map_has("points", str(len(trained.labels)))
    assert trained.title.startswith("squares, ResNet-18")
    assert trained.config.net == "linear"
