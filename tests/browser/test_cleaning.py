"""A person reviews training images with wrong labels, decides with keys, and trains again with the decisions."""

import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from sklearn.datasets import load_digits

from tests.waiting import until

pytestmark = pytest.mark.browser

CLASSES = ["zero", "one", "two", "three", "four"]
# Where those of a row begin, but for Undo; all are 0 while the row is drawn anew.
PLACES_OF_BUTTONS = "row => [...row.querySelectorAll('button')].slice(0, -1).map((b) => b.getBoundingClientRect().x)"


def digits_with_wrong_labels() -> bytes:
    """A zip of 300 digits of 5 classes; of each 15 of a class, one lies in the folder of the next class."""
    digits, packed = load_digits(), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for label in range(5):
            for i, index in enumerate(np.flatnonzero(digits.target == label)[:60]):
                file = io.BytesIO()
                Image.fromarray((digits.images[index] * 15.9).astype(np.uint8)).resize((16, 16)).save(file, "PNG")
                folder = CLASSES[(label + (i % 15 == 0)) % 5]
                archive.writestr(f"{folder}/{CLASSES[label]}-{i}.png", file.getvalue())
    return packed.getvalue()


def saved_decisions(file: Path) -> dict[int, str]:
    """What was decided about each image."""
    images = json.loads(file.read_text())["images"] if file.exists() else {}
    return {int(image): decision["action"] for image, decision in images.items()}


def test_wrong_labels_are_found_decided_about_and_trained_without(visit, server):
    person = visit(theme="dark")
    page = person.page
    person.open("?net=mlp&steps=60&num_snapshots=5")
    person.press("Upload data…")
    upload = {"name": "misfiled.zip", "mimeType": "application/zip", "buffer": digits_with_wrong_labels()}
    page.get_by_role("dialog").locator("input[type=file]").set_input_files(upload)
    expect(page.locator(".import-preview")).to_have_attribute("data-classes", "5")
    person.press("Use this data set")
    expect(page).to_have_url(re.compile("dataset=custom-[0-9a-f]{16}"))
    dataset = re.search("dataset=(custom-[0-9a-f]{16})", page.url)[1]
    run = person.press_train()
    person.map_has("points", "60")
    person.map_has("state", "finished")

    page.goto(f"{person.url}/clean?run={run}")
    sheet = page.locator(".review")
    expect(sheet).to_have_attribute("data-run", run)
    expect(page.get_by_text("The only run of")).to_be_visible()
    sheet.get_by_role("button", name="Look through the training images").click()
    expect(sheet).to_have_attribute("data-ready", "true")
    keep, change = (f"{verb} {name}" for verb, name in (("Keep", "zero"), ("Change to", "one")))
    expect(sheet.get_by_role("button", name=keep).first).to_be_visible()
    expect(sheet.get_by_role("button", name=change).first).to_be_visible()
    rows = sheet.locator(".row")
    labels = [row.locator("b").inner_text() for row in rows.all()[:8]]
    suggestions = [row.locator(".perhaps").inner_text().strip().removeprefix("perhaps ") for row in rows.all()[:8]]
    # Most of the first lie in the wrong folder; of other images that look wrong, one in four would seem to.
    follows = [CLASSES[(CLASSES.index(own) + 1) % 5] == label for label, own in zip(labels, suggestions, strict=True)]
    assert sum(follows) > len(follows) / 2, [*zip(labels, suggestions, strict=True)]
    sheet.locator(".rows").focus()
    images = [int(row.get_attribute("data-image") or -1) for row in rows.all()[:4]]
    buttons = rows.first.locator("button")
    while not any(undecided := rows.first.evaluate(PLACES_OF_BUTTONS)):
        page.wait_for_timeout(20)
    expect(buttons.last).to_be_hidden()
    for key in "rxc":
        page.keyboard.press(key)  # decides, and goes on to the next
    expect(buttons.last).to_have_text("Undo")
    expect(buttons.last).to_be_visible()
    while not any(places := rows.first.evaluate(PLACES_OF_BUTTONS)):  # the row has just been drawn anew
        page.wait_for_timeout(20)
    assert places == undecided, "Undo has moved some of them"
    page.keyboard.press("t")
    page.keyboard.type("odd one")
    page.keyboard.press("Enter")
    expect(rows.nth(3)).to_contain_text("“odd one”")
    page.keyboard.press("ArrowUp")
    person.provoked.append("/cleaning/decisions")
    page.route("**/cleaning/decisions", lambda route: route.abort())
    page.keyboard.press("u")
    expect(rows.nth(2).get_by_role("alert")).to_contain_text("the server cannot be reached")
    expect(rows.nth(2)).to_contain_text("label confirmed")
    page.unroute("**/cleaning/decisions")
    page.keyboard.press("u")
    page.reload()  # before there is an answer
    command = server.process.args
    data = Path(command[command.index("--data") + 1])
    decisions = {images[0]: "relabel", images[1]: "exclude", images[3]: "tag"}
    until(lambda: saved_decisions(data / "corrections" / f"{dataset}.json") == decisions)
    expect(rows.nth(3)).to_contain_text("“odd one”")
    expect(rows.nth(2).locator(".decision")).to_be_empty()
    expect(page.get_by_text("1 relabeled, 1 excluded, 0 confirmed")).to_be_visible()

    person.press("Train again with these corrections")
    compare = page.get_by_role("link", name="Compare both runs")
    expect(compare).to_be_visible()
    before, after = (page.get_by_test_id("stTable").locator(f"tr:first-of-type td:nth-of-type({n})") for n in (2, 3))
    expect(before.first).to_have_text(re.compile(r"0\.\d{4}"))
    expect(after.first).to_have_text(re.compile(r"0\.\d{4}"))
