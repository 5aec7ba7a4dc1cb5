"""The playground of a site: a page that trains by itself, without the network once it is there."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from dmlviz import data, metrics
from dmlviz.catalog.losses import LOSSES
from dmlviz.export import RunExport, playground
from dmlviz.export.contents import LessonExport
from dmlviz.export.site import write_site
from dmlviz.lessons import LESSONS
from dmlviz.runs.archive import import_run
from dmlviz.runs.embed import trained_net
from dmlviz.runs.store import Runs
from tests.browser.conftest import Files
from tests.browser.person import ONE, drag

READY_MADE = ("476b1d8df4e46879", "dc2e30bde135d469")  # digits, for the tasks of the lesson


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("playground") / "site"
    store = Runs(folder.parent / "ready-made")
    lesson = LessonExport(LESSONS["why-mining"], tuple(RunExport(store.get(name)) for name in READY_MADE))
    with pytest.MonkeyPatch.context() as patch:  # all losses: tests/export/test_training_program.py
        patch.setattr(playground, "LOSSES", {name: LOSSES[name] for name in ("nt_xent", "triplet", "softmax")})
        write_site(folder, [], lessons=[lesson], playground=["digits"])
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 3_600_000
    return folder


@pytest.fixture
def page(page, folder):
    page.server = Files(folder)
    page.address = f"{page.server.url}/playground/index.html"
    yield page
    page.server.shutdown()
    page.server.server_close()


def trained(page):
    """Train to the end; return what the page says of it."""
    page.get_by_role("button", name="Train", exact=True).click()
    page.locator("button.train", has_text="Train").wait_for()  # it was "Stop" meanwhile
    page.get_by_text("Trained in this tab: step").wait_for()
    return page.locator("p.status").inner_text()


def test_a_page_trains_offline_and_the_app_takes_its_run_with_the_same_numbers(page, folder, tmp_path):
    page.goto(f"{page.address}?steps=100&seed=3")
    page.wait_for_function("navigator.serviceWorker.ready.then(() => true)")
    page.context.set_offline(True)
    page.server.shutdown()
    page.reload()
    page.get_by_text("This page trains in your browser, on 1,081 images.").wait_for()
    said = trained(page)
    assert float(re.search(r"P@1 ([\d.]+) on 120 validation images", said)[1]) >= 0.95

    drag(page.locator(".query-pad canvas"), *ONE)
    page.locator(".inspector").get_by_text("of 10 neighbors are of class 1").wait_for()
    page.get_by_text("Why is it near to the nearest test image?").click()
    page.locator("figure.parts canvas").nth(2).wait_for()

    with page.expect_download() as download:
        page.get_by_role("button", name="Keep").click()
    download.value.save_as(tmp_path / "kept.zip")
    with (tmp_path / "kept.zip").open("rb") as file:
        run = import_run(file, Runs(tmp_path / "runs"))
    assert (run.state, run.config.loss, run.config.steps, run.config.seed) == ("finished", "nt_xent", 100, 3)
    scores = metrics.evaluate(np.array(run.embeddings), run.labels)
    for name in ("precision_at_1", "map_at_r", "r_precision"):
        assert run.metrics[name] == pytest.approx(scores[name], abs=1e-6)
    assert np.array_equal(run.labels, data.load("digits").test.labels)
    assert trained_net(run).image == (1, 8, 8)
    assert page.failures == []
    home = page.address.removesuffix("playground/index.html")
    assert all(url.startswith((home, "blob:", "data:")) for url in page.asked)


def test_settings_change_while_it_trains_and_a_point_and_a_drawing_show_their_neighbors_of_now(page):
    page.goto(f"{page.address}?steps=10000&loss=triplet")
    page.get_by_role("button", name="Train", exact=True).click()
    drag(page.locator(".query-pad canvas"), *ONE)
    inspector = page.locator(".inspector")
    inspector.get_by_text("of 10 neighbors are of class").wait_for()
    expect(inspector).not_to_have_text(inspector.inner_text(), use_inner_text=True)  # asked again at each snapshot
    page.locator(".map").evaluate("root => root.map.interaction.pin(7)")
    inspector.get_by_text("neighbors").first.wait_for()
    assert not inspector.get_by_text("Why is it near").count()  # while the net changes
    page.get_by_label("Learning rate").select_option("0.001")
    page.get_by_label("Loss", exact=True).select_option("softmax")
    page.wait_for_url(re.compile("loss=softmax"))
    page.get_by_label("Map", exact=True).select_option("tsne")
    page.locator(".map[data-view^=tsne] .foot", has_text="of 10 neighbors survive").wait_for()
    page.locator(".map[data-view^=tsne][data-state=running]").wait_for()
    view = page.locator(".map").get_attribute("data-view")
    page.locator(".view > summary").dispatch_event("click")  # a click waits until a page that trains stands still
    page.get_by_label("Perplexity").press("Home")  # the map goes on with it, and the next ones, too
    page.locator(f".map[data-view^=tsne]:not([data-view={view}]) .caption", has_text="layouts from step").wait_for()
    expect(page.locator(".map .settings output").first).to_have_text("1")
    page.locator(".view > summary").dispatch_event("click")
    assert page.get_by_role("button", name="Stop").is_visible()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Trained in this tab: step").wait_for()
    page.locator(".map[data-view^=tsne][data-state=finished]").wait_for()
    assert "map=tsne" in page.url
    page.get_by_label("Map", exact=True).select_option("live")
    page.get_by_label("Steps", exact=True).select_option("100")
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    assert trained(page).endswith("It went on while this tab was in the background.")
    page.get_by_label("Compare with the run before").check()
    headings = page.locator(".heading").all_inner_texts()
    assert [text.split(":")[0] for text in headings] == ["Softmax", "Softmax"]
    page.locator(".inspector").nth(1).get_by_text("of 10 neighbors").wait_for()
    assert page.locator(".map").evaluate_all("maps => maps.map((map) => map.dataset.pinned)") == ["7", "7"]
    assert page.failures == []


# What else may be lacking: frontend/test/program, standalone.
LACKS = {
    "no WebAssembly": ("playground_worker.js", b"delete globalThis.WebAssembly;", "It has no vector instructions"),
    "damaged": ("digits.bin", b"cut off", "digits.bin could not be loaded from this site; reload the page."),
}


@pytest.mark.parametrize(("file", "change", "sentence"), LACKS.values(), ids=LACKS)
def test_what_a_browser_or_a_site_lacks_is_said_in_a_sentence(page, folder, file, change, sentence):
    def changed(route):
        script = (folder / file).read_bytes() if file.endswith(".js") else b""
        route.fulfill(body=change + script, content_type="text/javascript")

    page.context.route(f"**/{file}", changed)
    page.goto(f"{page.address}?loss=best&steps=20")
    page.get_by_text(sentence).wait_for()
    if b"delete" in change:
        page.get_by_text("asks for the loss “best”, which this page does not have; it takes nt_xent.").wait_for()
        trained(page)
    assert page.failures == []


def test_a_task_of_a_lesson_trains_its_own_net(page):
    page.goto(page.address.replace("playground/index", "lessons/why-mining"))
    trains, refused = page.locator(".task").all()
    refused.get_by_role("radio").first.check()
    refused.get_by_text("The page of this site cannot train this net. A page draws balanced batches").wait_for()
    trains.get_by_role("radio").first.check()
    trains.get_by_role("link", name="Train this net in your browser").click()
    page.locator("button.train:enabled").wait_for()
    assert page.get_by_label("Miner", exact=True).locator("option").all_inner_texts() == ["Random hard negative"]
    assert page.get_by_label("Net", exact=True).locator("option").all_inner_texts() == ["Small"]
    page.goto(f"{page.url}&steps=20")
    assert float(re.search(r"P@1 ([\d.]+)", trained(page))[1]) > 0.5
    assert page.failures == []
