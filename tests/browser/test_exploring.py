"""A user looks closely: failing images, neighbors over time, a run that fails on purpose."""

import csv
import re

import pytest
from playwright.sync_api import expect

from dmlviz import metrics
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.training.batch_record import recorded_steps
from tests.waiting import until

pytestmark = pytest.mark.browser

MOMENT = re.compile(r"/per_query\.bin|/neighbors/[0-9]+\.json")  # what is asked at each step
# The step of the map, then of each panel.
STEPS = """() => {
  const within = ({ shadowRoot }, selector) => (shadowRoot ? find(shadowRoot, selector) : null);
  const find = (root, selector) =>
    root.querySelector(selector) ?? [...root.querySelectorAll("*")].map((one) => within(one, selector)).find(Boolean);
  const panels = [".inspector", ".scores", ".loss-curve", ".detail", ".lossview .distances", ".lossview .batch"];
  return [".map", ...panels].map((selector) => find(document, selector)?.dataset.step ?? null);
}"""


def test_a_score_opens_its_failing_images_and_their_neighbors(person, digits_run, tmp_path):
    """From a number to pictures: select what fails, save it, pin one, follow it over the training."""
    page = person.page
    person.open(f"?run={digits_run.id}")
    page.locator(".loss-curve svg").press("End")
    person.map_has("step", str(digits_run.config.steps))
    inspector = page.locator(".inspector")
    inspector.get_by_text("Why?").click()  # of the example
    page.get_by_role("button", name=re.compile("^Compare it with number")).click()
    expect(inspector.locator(".pair")).to_contain_text("threshold")
    inspector.locator(".pair").get_by_role("button", name="End", exact=True).click()
    page.locator(".overlay").press("Escape")
    judged = metrics.evaluate_per_query(digits_run.embeddings, digits_run.labels)
    failing = set(judged.queries[judged.first_hit > 1].tolist())
    page.locator("[data-score=precision_at_1]").click()
    expect(inspector).to_have_attribute("data-selected", str(len(failing)))
    person.map_has("selected", str(len(failing)))
    expect(page).to_have_url(re.compile("select=digits"))  # Python's answer draws the inspector anew
    thumbs = inspector.locator(".thumb")
    expect(thumbs).to_have_count(len(failing))
    assert {int(thumb.get_attribute("data-item") or -1) for thumb in thumbs.all()} == failing
    with page.expect_download() as waiting:
        inspector.get_by_text("Save as CSV").click()
    waiting.value.save_as(tmp_path / "selection.csv")
    with open(tmp_path / "selection.csv", newline="") as file:
        assert {int(row["item"]) for row in csv.DictReader(file)} == failing

    item = next(item for item in sorted(failing) if item in set(digits_run.tracked_indices.tolist()))
    inspector.locator(f".thumb[data-item='{item}']").click()
    expect(inspector).to_have_attribute("data-subject", str(item))
    expect(inspector.locator("button.row.wrong").first).to_be_visible()
    # Two images, by their pixels and by the net.
    inspector.get_by_text("Compare with another image").click()
    expect(inspector.locator(".pair")).to_contain_text("Now click another one")
    inspector.locator("button.row.wrong").first.click()
    row = inspector.locator(".pair tr[data-space=embedding]")
    expect(row).to_contain_text("the same: wrong")  # a nearest neighbor of another class
    expect(inspector.locator(".pair tr[data-space='raw pixels'] td")).to_have_count(3)
    expect(page).to_have_url(re.compile(f"partner={item}"))
    inspector.locator(".pair").get_by_role("button", name="End", exact=True).click()
    expect(inspector.locator(".pair")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("partner="))
    inspector.get_by_text(f"‹ {len(failing):,} selected").click()
    inspector.locator(f".thumb[data-item='{item}']").click()
    expect(inspector).to_have_attribute("data-subject", str(item))
    inspector.get_by_text("Neighbors over time").click()
    strip = page.locator(".detail .history li")
    expect(strip).to_have_count(len(digits_run.snapshot_steps) + 1)
    step = digits_run.snapshot_steps[3]
    requests = person.hear_requests()
    page.locator(f".history button[data-step='{step}']").click()
    person.map_has("step", str(step))

    chart = page.locator(".loss-curve svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 20)
    page.mouse.down()
    for share in (0.4, 0.55, 0.7, 0.8):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 20, steps=4)
        expect(page.locator(".loss-curve")).to_have_attribute("data-held", "true")
    page.mouse.up()
    expect(page.locator(".loss-curve")).to_have_attribute("data-held", "false")
    assert int(person.of_map("step")) in {*digits_run.snapshot_steps, digits_run.config.steps}
    assert int(person.of_map("step")) > step
    asked = [url for url in requests if "/dmlviz/" in url and not MOMENT.search(url)]
    assert asked == [], "scrubbing asked the server for more than who fails there, and is near"

    # What fails at the end, projected alone; back with one key, and undone; the address holds it.
    page.locator(".loss-curve svg").press("End")
    reason = f"after {digits_run.config.steps} steps"  # of the selection: as many may have failed at the step before
    until(
        lambda: reason in person.map.evaluate("root => root.map.state.store.state.reason ?? ''"),
        what="the old selection",
    )
    person.map_has("selected", str(len(failing)))
    page.locator(".overlay").press("x")
    page.locator(".overlay").press("d")
    expect(page).to_have_url(re.compile(r"isolate=digits.*show\.contours=1"))
    person.map_has("points", str(len(failing)))
    page.locator(".overlay").press("x")
    expect(page).not_to_have_url(re.compile("isolate="))
    person.map_has("selected", str(len(failing)))
    page.locator("[data-tool=subset]").click()
    person.map_has("points", str(len(failing)))
    expect(page).to_have_url(re.compile("subset=digits"))
    expect(page.locator(".figures")).to_contain_text(f"on {len(failing)} test images")
    page.locator(".overlay").press("w")
    person.map_has("view", "live")
    person.map_has("selected", str(len(failing)))
    expect(page).not_to_have_url(re.compile("subset="))
    person.map_has("points", str(len(digits_run.labels)))
    page.locator("[data-tool=undo]").click()
    person.map_has("points", str(len(failing)))
    assert person.of_map("mounts") == "1"
    expect(page).to_have_url(re.compile("subset=digits"))
    page.reload()
    person.map_has("points", str(len(failing)))
    person.map_has("contours", "few points")
    page.locator("[data-tool=whole]").click()
    person.map_has("points", str(len(digits_run.labels)))


def test_a_failing_run_shows_an_alarm_and_applies_its_suggestion(person, server):
    """The alarm names the collapse; one click sets the remedy in the sidebar."""
    page = person.page
    person.open("?run=" + failing_run())
    page.locator(".loss-curve svg").press("End")
    alarm = page.locator(".map .alarm")
    expect(alarm).to_have_attribute("data-alarm", "collapsed")
    expect(alarm).to_contain_text("Embeddings have collapsed")
    stage = page.locator(".map .stage").bounding_box()
    assert alarm.bounding_box()["x"] > stage["x"] + stage["width"] / 2, "the alarm covers the middle of the map"
    alarm.get_by_text("a margin of 1").click()
    expect(page).to_have_url(re.compile("loss=contrastive"))
    expect(page.get_by_label("Margin", exact=True)).to_have_value("1")
    expect(alarm).to_contain_text("Press Train")
    alarm.get_by_label("Dismiss this alarm").click()
    expect(alarm).to_be_hidden()


def failing_run() -> str:
    from dmlviz.runs.store import Runs, bundled_runs

    runs = Runs(bundled_runs()).list()
    return next(run.id for run in runs if run.info.get("fails") and run.config.loss == "contrastive")


def test_every_panel_is_of_the_step_that_the_map_shows_and_one_that_follows_keeps_its_layouts(visit):
    """Live, scrubbed and at the end; on the live view, and on a map that follows the training."""
    person = visit(1280, 1600)
    page, steps, loss = person.page, 40_000, "loss=triplet&miner=semihard_nearest&sampler=unhurried"
    person.train(f"dataset=digits&net=mlp&{loss}&steps={steps}&num_snapshots=250&pin=34")
    page.get_by_role("button", name="By class", exact=True).click()
    for drawer in ("What the loss sees", "Distance distribution"):
        page.get_by_role("button", name=drawer, exact=True).click()
    kept = recorded_steps(TrainConfig(dataset="digits", net="mlp", steps=steps))

    def agreed(view: str, steps: int = 1, ends: bool = False) -> None:
        """Wait until at so many steps all panels were of the map's step; at the end one may say so by no number."""
        found: set[str] = set()

        def look() -> bool:
            shown, *panels, batch = page.evaluate(STEPS)
            upto = max((step for step in kept if step <= int(shown or 0)), default=kept[0])
            if shown and {*panels} <= {shown, "" if ends else shown} and batch == str(upto):
                found.add(shown)
            else:
                print(view, shown, panels, batch, upto)  # pytest shows it where the wait was in vain
            return len(found) == steps

        until(look, 90, f"the panels show another step than the map: {view}")

    for view in ("live", "UMAP"):
        if view != "live":
            person.choose(view)
            person.map_has("view", re.compile("[0-9a-f]{16}"))
        agreed(view, steps=2)
        assert person.of_map("state") == "running"
        expect(person.words).to_contain_text("loss")  # that of the training
        # Of a net that has learned a miner may find no triplet, or none that costs.
        expect(page.locator(".batch-strip")).to_contain_text(
            re.compile("The loss pulls the positive|the loss leaves them alone|There are no triplets to compare")
        )
        page.get_by_role("button", name="Previous frame").first.click()
        agreed(f"{view}, scrubbed")
        expect(page.locator(".inspector")).to_contain_text(f"at step {int(person.of_map('step')):,}")
        page.get_by_role("button", name="Live", exact=True).click()
    expect(person.map.locator(".foot > summary")).to_contain_text("neighbors survive")
    person.press("Stop")
    person.map_has("state", "finished")
    person.map_has("points", "596")
    agreed("at the end", ends=True)
    expect(page.locator(".inspector")).to_contain_text("at the end of the run")
    last = int(person.of_map("step"))
    page.get_by_role("button", name="Previous frame").first.click()
    until(lambda: int(person.of_map("step")) < last, what="its layouts are not kept")


def test_many_classes_can_be_found_pointed_at_selected_and_read(person):
    """From training on identities to one of them: nothing counts classes in 8 bits."""
    page = person.page
    person.train("dataset=identities&net=mlp&steps=1&loss=nt_xent")
    person.map_has("state", "finished")
    page.locator(".loss-curve svg").press("End")
    person.map_has("step", "1")
    legend = page.locator(".legend")
    expect(legend.locator(".class")).to_have_count(60)
    expect(legend.locator(".more")).to_have_text("and 691 more: type to find one")
    page.get_by_placeholder("Find a class").fill("1500")
    expect(legend.locator(".class")).to_have_count(1)
    expect(legend.locator(".class")).to_have_attribute("aria-label", "1500: 8")
    page.get_by_placeholder("Find a class").fill("")

    expect(page.locator(".color-by option", has_text="camera")).to_have_count(1)
    page.locator(".view > summary").click()
    for markers in ("class", "column.camera"):
        page.locator("[data-tool=markers]").click()
        person.map_has("markers", markers)
    page.locator(".view > summary").click()
    expect(legend.get_by_role("listitem")).to_have_text(DATASETS["identities"].roles["camera"])

    last = 6007  # an image of the last class
    page.mouse.move(*person.place_of(last))
    expect(page.locator(".card .title")).to_have_text(re.compile(r"\d{4}"))
    assert page.locator(".card .title").inner_text() in DATASETS["identities"].classes[750:]

    page.get_by_text("By class").click()
    detail = page.locator(".detail")
    expect(detail.get_by_text(re.compile("The most frequent of .* confusions"))).to_be_visible()
    expect(detail.get_by_text("The 50 classes with the lowest MAP@R, of 751.")).to_be_visible()
    confusion = detail.locator(".confusion button").first
    count = int(confusion.inner_text())
    confusion.click()
    person.map_has("selected", str(count))
    own = detail.locator(".confusion th").nth(3).inner_text()
    expect(legend.locator(".class").first).to_have_attribute("aria-label", f"{own}: {count} / 8")


WHILE_MEASURED_MS = 240_000
SCRIPT_IS_HERE = "performance.getEntriesByType('resource').some(({ name }) => name.includes('PlotlyChart'))"


def test_curves_show_roc_and_recall_in_both_themes_and_select_the_images_of_a_point(visit, digits_run):
    person = visit(saves_data=False)
    person.open(f"?run={digits_run.id}")
    page = person.page
    drawer = page.get_by_test_id("stExpander").filter(has_text="Curves")
    chart = drawer.get_by_test_id("stPlotlyChart").last  # beside it the one before may stand for a moment
    assert chart.count() == 0
    until(lambda: page.evaluate(SCRIPT_IS_HERE))  # a second of work, before it is asked for

    drawer.locator("summary").click()
    person.choose("ROC")
    expect(page).to_have_url(re.compile("curves=roc"))
    area = digits_run.metrics["roc_auc"]
    expect(drawer).to_contain_text(f"ROC of the distance: area {area:.4f}")
    expect(chart).to_have_attribute("aria-label", re.compile("^ROC"))
    line = chart.locator(".scatterlayer .trace").first.locator("path.js-line")
    expect(line).to_have_count(1)
    until(lambda: (line.bounding_box() or {"height": 0})["height"] > 150)  # a baseline that comes draws it anew
    expect(chart.locator(".xtitle")).to_have_text("false positive rate")

    person.choose("Recall@k")
    expect(page).to_have_url(re.compile("curves=recall_at_k"))
    expect(chart.locator(".textpoint").first).to_have_text(f"R@1 {digits_run.metrics['recall_at_1']:.4f}")
    expect(drawer).to_contain_text("596 test images of Digits 8 × 8 after step 60, the end")
    for theme, ground, ink in (
        ("light", "rgb(255, 255, 255)", "rgb(102, 105, 111)"),
        ("dark", "rgb(20, 22, 27)", "rgb(166, 170, 179)"),
    ):
        page.emulate_media(color_scheme=theme)
        expect(chart.locator(".main-svg").first).to_have_css("background-color", ground)
        for words in (".textpoint text", ".xtitle", ".ytick text"):
            expect(chart.locator(words).first).to_have_css("fill", ink)

    # By themselves; each is measured by a process of its own, at low priority.
    expect(drawer).to_contain_text("raw pixels: R@1", timeout=WHILE_MEASURED_MS)
    expect(drawer).to_contain_text("untrained net: R@1", timeout=WHILE_MEASURED_MS)
    person.click_point(chart, 1, "among their 2 nearest", drawer, "first neighbor of their class is the 2nd")
    expect(page).to_have_url(re.compile("select=digits"))
    expect(page.get_by_text("Selected by a link or a curve")).to_be_visible()

    person.choose("Confusion")
    counts = metrics.confusion(digits_run.embeddings, digits_run.labels)[1]
    own = int(counts[0, 0])
    says = f"{own} images of 0 whose nearest neighbor is one of them, too"
    person.click_point(chart, 0, f"{own} of them", drawer, says, trace=2)
    person.map_has("selected", str(own))

    person.choose("All scores")
    expect(drawer.locator("tr", has_text="ROC area")).to_contain_text(f"{area:.4f}")
    drawer.locator("summary").click()
    expect(page).not_to_have_url(re.compile("curves="))
    expect(chart).to_have_count(0)
