"""What a visitor does with their own hands in a lab: guess pairs, fill a gallery, follow a thing, win with tricks."""

import pytest
from playwright.sync_api import expect

from dmlviz.data import available_datasets
from dmlviz.labs.few_shot_tasks import EMBEDDED
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.reality_check.claims import claim
from dmlviz.labs.reality_check.contestants import CONTRASTIVE
from dmlviz.labs.statistics import t_interval
from dmlviz.metrics.few_shot import episode_accuracies
from dmlviz.storage.arrays import read_arrays

pytestmark = pytest.mark.browser
SLOW = 60_000  # milliseconds; the net is trained on two busy cores


@pytest.mark.skipif("fashion_mnist" not in available_datasets(), reason="the ready-made pairs are of Fashion-MNIST")
def test_ten_pairs_are_guessed_and_the_cross_is_on_the_roc(person):
    page = person.page
    page.goto(f"{person.url}/labs?lab=verification&guess=1")
    for number in range(1, 11):
        expect(page.get_by_text(f"Pair {number} of 10")).to_be_visible()
        page.get_by_role("button", name="The same", exact=True).click()
    expect(page.get_by_text("You were right for 5 of 10 pairs")).to_be_visible()
    expect(page.get_by_text("you, 10 pairs")).to_be_visible()
    view = page.locator(".threshold[data-ready]")
    expect(view.locator("text.you")).to_have_text("you")
    expect(view.locator("figure")).to_have_count(16)  # pairs that are not asked about
    assert 0 < int(view.get_attribute("data-accepted")) < 16
    histogram, roc = view.locator("svg").all()
    size = histogram.bounding_box()
    histogram.click(position={"x": 0.97 * size["width"], "y": 0.5 * size["height"]})
    expect(view).to_have_attribute("data-accepted", "16")  # all are nearer than that
    expect(view.locator("figure.wrong")).to_have_count(8)  # and half of them are of two identities
    roc.click(position={"x": 0.1 * size["width"], "y": 0.84 * size["height"]})
    expect(view.locator(".reading")).to_contain_text(" 0.0 % of those of two accepted")
    expect(view.locator("td")).to_have_count(33)  # ten folds and their mean
    page.get_by_role("button", name="Ten other pairs").click()
    expect(page.get_by_text("Pair 1 of 10")).to_be_visible()


def test_a_newcomer_is_unknown_until_added_and_gone_when_removed(person):
    page = person.page
    page.goto(f"{person.url}/labs?lab=gallery&guess=1")
    page.get_by_role("button", name="Train it").click()
    shelf = page.get_by_text("On the shelf")
    expect(shelf).to_be_visible(timeout=3 * SLOW)
    expect(page.get_by_text("7 (3)")).to_have_count(0)
    page.get_by_role("button", name="Add three test pictures of 7").click()
    expect(page.get_by_text("7 (3)")).to_be_visible()

    pad = page.locator("canvas").last
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    for x, y in ((0.7, 0.2), (0.45, 0.85)):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=8)
    page.mouse.up()
    answer = page.get_by_text("the nearest, ")
    expect(answer).to_be_visible()
    page.get_by_label("Name", exact=True).fill("my sign")
    page.get_by_label("Name", exact=True).press("Enter")
    page.get_by_role("button", name="Add this drawing").click()
    expect(page.get_by_text("my sign (1)")).to_be_visible()
    expect(answer).to_contain_text("This is my sign: the nearest, my sign, is 0.00 away")
    page.locator("[class*=st-key-lab-shelf-of-my-sign]").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("my sign (1)")).to_have_count(0)
    expect(answer).not_to_contain_text("my sign")


def test_a_thing_is_followed_from_a_box_drawn_by_hand(person):
    page = person.page
    page.goto(f"{person.url}/labs?lab=tracking&guess=1")
    tracker = page.locator(".tracker")
    expect(tracker).to_have_attribute("data-ready", "true")
    expect(tracker).to_have_attribute("data-own", "false")
    means = tracker.get_attribute("data-means").split()
    assert len(means) == 3
    for name, frame in (("Next frame", "1"), ("Next frame", "2"), ("Previous frame", "1")):
        page.get_by_role("button", name=name, exact=True).click()
        expect(tracker).to_have_attribute("data-frame", frame)
    page.get_by_role("slider", name="Frame").fill("20")
    expect(tracker).to_have_attribute("data-frame", "20")
    page.get_by_role("radio", name="pixel correlation").click()
    expect(tracker).to_have_attribute("data-method", "pixel correlation")
    expect(page.get_by_text("Score map, pixel correlation")).to_be_visible()

    box = page.get_by_role("img", name="The video").bounding_box()
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.4 * box["height"], steps=3)
    page.mouse.up()
    expect(tracker).to_have_attribute("data-own", "true")
    assert tracker.get_attribute("data-means").split() != means
    page.get_by_role("button", name="Back to the true first box").click()
    expect(tracker).to_have_attribute("data-means", " ".join(means))
    page.get_by_role("slider", name="Noise, gray levels").fill("60")
    expect(tracker).not_to_have_attribute("data-means", " ".join(means))


def test_a_loss_beats_itself_by_tricks(person):
    page, results = person.page, ready_made("reality-check").results()
    page.goto(f"{person.url}/labs?lab=reality-check")
    expect(page.get_by_text("Guess first: the figure is covered until then.")).to_be_visible()
    expect(page.get_by_text("Be the author")).to_have_count(0)  # it gives the answer away
    page.goto(f"{person.url}/labs?lab=reality-check&guess=1")
    expect(page.get_by_text("No trick in use.")).to_be_visible()
    page.get_by_role("combobox", name="Your favorite loss").fill("Contrastive")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="“Contrastive is as good as the contrastive loss.”")).to_be_visible()
    page.get_by_text("Leave it at its recommended settings").click()
    expect(page.get_by_text("1 trick in use")).to_be_visible()
    page.get_by_text("Put its four nets side by side").click()
    gain = claim(results, CONTRASTIVE, {"untuned", "four_nets"}).gain
    assert gain > 20
    words = f"“Contrastive is {gain:.0f} % better than the contrastive loss.”"
    expect(page.get_by_role("heading", name=words)).to_be_visible()
    expect(page.get_by_role("switch", name="Take the best step of the test curve")).to_be_disabled()


def test_episodes_follow_each_other_and_the_interval_shrinks(person):
    page = person.page
    page.goto(f"{person.url}/labs?lab=few-shot&guess=1")
    expect(page.get_by_text("One episode has no interval.")).to_be_visible()
    panel = page.locator(".st-key-lab-episodes-map")
    expect(panel.locator(".scatterlayer .trace")).to_have_count(2 + 3 * 5)  # lines, then three kinds of marks a way
    page.get_by_role("button", name="Next episode").click()
    expect(page.get_by_text("All 2 so far: ")).to_be_visible()
    page.get_by_role("button", name="50 more").click()
    kept = read_arrays(ready_made("few-shot").path / "trials" / "prototypical_60-seed_0" / EMBEDDED)
    mean, low, _ = t_interval(episode_accuracies(kept["embeddings"], kept["labels"], 5, 1, 5, 52).tolist())
    expect(page.get_by_text(f"All 52 so far: {mean:.1%}, 95 % t-interval over the episodes {low:.1%}")).to_be_visible()
