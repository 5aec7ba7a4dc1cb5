"""A person lets a pretrained backbone compute features of their images, and trains a head on them."""

import re

import pytest
from playwright.sync_api import expect

from dmlviz.runs.store import Runs
from tests.browser.test_export_and_upload import shapes

pytestmark = pytest.mark.browser


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


def test_weights_are_uploaded_features_computed_and_a_head_trained(person, runs, weights):
    page, dialog = person.page, person.page.get_by_role("dialog")
    files = dialog.locator("input[type=file]")
    person.open("?steps=20")
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
