"""A class: a teacher at a projector, a student at a laptop, one on a phone; each with a browser of their own."""

import re

import pytest
from playwright.sync_api import Page, expect

from dmlviz.runs.store import Runs
from tests.browser.accessibility import accessibility_violations

pytestmark = pytest.mark.browser


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def map_has(page: Page, **values: str) -> None:
    for name, value in values.items():
        expect(page.locator(".map")).to_have_attribute(f"data-{name}", value)


def test_a_class_guesses_sees_the_answer_follows_its_teacher_and_hands_in(come, school):
    url, before = school.url, {run.id for run in Runs(school.runs).list()}
    teacher, ada, bob = come(), come(), come(390, 780)
    students = (ada, bob)
    teacher.goto(f"{url}/class?token={school.tokens['teacher']}")
    teacher.get_by_role("textbox", name="Title").fill("Monday")
    press(teacher, "Open")
    board = teacher.locator(".board")
    expect(board).to_have_attribute("data-ready", "true")
    code = board.get_attribute("data-code") or ""
    expect(board.locator(".code")).to_have_text(f"{code[:3]} {code[3:]}")
    box = board.locator(".qr").bounding_box()
    assert box
    assert box["width"] > 250, "to be read from the last row"

    larger = teacher.get_by_role("button", name="Larger text")
    heights = [board.locator(".present").evaluate("node => node.getBoundingClientRect().height")]
    for wide in (True, False):
        larger.click()
        heights.append(board.locator(".present").evaluate("node => node.getBoundingClientRect().height"))
        assert board.evaluate("node => node.scrollWidth <= node.clientWidth"), wide
    assert heights[1] / heights[0] == pytest.approx(1.6, abs=0.05)
    assert heights[2] == heights[0]

    # The code on the board is all that a student needs, not the token.
    for page, nickname in zip(students, ("Ada", "Bob"), strict=True):
        page.goto(f"{url}/class?code={code}")
        page.get_by_role("textbox", name="Nickname").fill(nickname)
        press(page, "Join")
        expect(page.locator(".classroom-bar")).to_have_attribute("data-ready", "true")
    expect(board).to_have_attribute("data-online", "2")
    assert "Ada" not in board.inner_text(), "the board is on the projector"

    # A task for all; nobody sees the answer before the teacher shows it.
    teacher.get_by_label("Lesson", exact=True).select_option("one-neighbor-or-all")
    teacher.get_by_label("Data set", exact=True).select_option("digits")
    press(teacher, "Set for all")
    for page, guess in zip(students, ("About 0.4", "Above 0.75"), strict=True):
        task = page.locator(".st-key-lesson")
        task.get_by_text(guess, exact=True).click()
        press(page, "Commit and train")
        expect(task).to_contain_text("when your teacher shows it")
        expect(page.locator(".map")).to_have_count(1)  # who has guessed sees the run train
        expect(page.locator(".scores")).to_have_count(0)
    expect(board).to_have_attribute("data-guessed", "2")
    counts = board.locator(".histogram li").evaluate_all("bars => bars.map((bar) => bar.dataset.count)")
    assert counts == ["0", "1", "1"]
    tracks = board.locator(".histogram .track, .histogram .fill")
    widths = tracks.evaluate_all("nodes => nodes.map((node) => node.offsetWidth)")
    assert abs(widths[3] / widths[2] - 0.5) < 0.02, "one of two guesses is half of the bar"
    expect(board.locator(".histogram .right")).to_have_count(0)
    (run,) = [run for run in Runs(school.runs).list() if run.id not in before]  # one for both
    expect(board).to_contain_text("the answer is ready on 2 pages")
    board.get_by_role("button", name="Show the answer").click()
    expect(ada.locator(".st-key-lesson")).to_contain_text("The run says: Above 0.75.")
    expect(bob.locator(".st-key-lesson")).to_contain_text("Correct.")
    expect(board.locator(".histogram .right")).to_contain_text("Above 0.75")
    expect(board.locator(".result")).to_contain_text(re.compile(r"Above 0\.75\..*\d", re.DOTALL))  # sentence and number
    map_has(teacher, ready="true", run=run.id)
    assert accessibility_violations(teacher) == []
    assert accessibility_violations(ada, ".st-key-lesson, [class*=st-key-classroom_bar]") == []

    # A student who goes elsewhere and comes back to Explore finds the class's run.
    bob.goto(url)
    map_has(bob, run=run.id)
    bob.close()  # one map less to draw

    # The run of all, and where the teacher goes.
    press(teacher, "Show the run to all")
    expect(ada).to_have_url(re.compile(f"run={run.id}"))
    map_has(ada, ready="true", run=run.id)
    map_has(teacher, ready="true", run=run.id)
    teacher.get_by_role("link", name="Learn", exact=True).click()
    expect(ada).to_have_url(re.compile("/learn$"))
    teacher.get_by_role("link", name="Explore", exact=True).click()
    map_has(teacher, ready="true")
    shown = teacher.locator(".map").get_attribute("data-run") or ""
    map_has(ada, ready="true", run=shown)
    end = teacher.locator(".map").get_attribute("data-step") or ""
    map_has(ada, step=end)
    teacher.locator(".map").evaluate("root => root.map.playback.seek(0)")
    expect(teacher.locator(".map")).not_to_have_attribute("data-step", end)  # a frame may have to be fetched first
    step = teacher.locator(".map").get_attribute("data-step") or ""
    map_has(ada, step=step)
    x, y = teacher.locator(".map").evaluate("root => root.map.clientOf(7)")
    teacher.mouse.click(x, y)
    expect(teacher.locator(".map")).not_to_have_attribute("data-pinned", "")
    pinned = teacher.locator(".map").get_attribute("data-pinned") or ""
    map_has(ada, pinned=pinned)

    # One explores alone, and comes back.
    press(ada, "Explore on your own")
    expect(ada.get_by_role("button", name="Follow the teacher")).to_be_visible()
    teacher.locator(".map").evaluate("root => root.map.playback.seek(1)")
    expect(teacher.locator(".map")).not_to_have_attribute("data-step", step)
    later = teacher.locator(".map").get_attribute("data-step") or ""
    assert later != step
    map_has(ada, step=step)
    press(ada, "Follow the teacher")
    map_has(ada, step=later)

    teacher.get_by_role("link", name="Class", exact=True).click()
    expect(board.locator(".race tbody tr")).to_have_count(1)
    press(teacher, "End the class")
    press(teacher, "End it for everybody?")
    expect(ada.locator(".classroom-bar")).to_have_count(0)
    ada.get_by_role("link", name="Class", exact=True).click()
    for page, link in ((teacher, "CSV"), (ada, "my hand-in")):
        address = page.get_by_role("link", name=link, exact=True).evaluate("link => link.href")
        assert page.evaluate("address => fetch(address).then((answer) => answer.status)", address) == 200, address
