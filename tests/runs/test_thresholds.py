"""The threshold of a run: its rate on images that it was not found on, its limits, and `dmlviz ask`."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from dmlviz.cli.main import main
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.runs.store import Runs
from dmlviz.runs.thresholds import forget_threshold, keep_threshold, threshold, threshold_of
from dmlviz.runs.training_run import train_and_record
from dmlviz.search_api.service import SearchService

RATES = (0.2, 0.05, 0.01)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def trained(folder, **settings):
    run = Runs(folder).create(TrainConfig(dataset="digits", net="mlp", steps=150, num_snapshots=2, **settings))
    list(train_and_record(run))
    return run


@pytest.fixture(scope="module")
def run(folder):
    return trained(folder)


@pytest.fixture(scope="module")
def open_run(folder):
    return trained(folder, held_out_classes=(3, 5, 8), validation_fraction=0.3)


def run_command(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([*arguments])
    assert stopped.value.code == 0


def accepted(run, value, classes=range(10)):
    """The share of pairs of different classes of test images that are at most so far apart."""
    kept = np.isin(run.labels, list(classes))
    points, labels = run.embeddings[kept].astype(float), run.labels[kept]
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    return (distances <= value)[labels[:, None] != labels].mean()


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
def test_the_rate_holds_on_images_that_it_was_not_found_on(run, rate):
    found = threshold(run, rate)
    assert found.false_accept_rate <= rate
    assert found.false_accept_rate == pytest.approx(rate, rel=0.05)
    assert found.interval[0] <= found.value <= found.interval[1]
    assert rate / 3 <= accepted(run, found.value) <= 2 * rate


@pytest.mark.slow
def test_a_smaller_rate_costs_more_false_rejects(run):
    found = [threshold(run, rate) for rate in RATES]
    assert [one.value for one in found] == sorted((one.value for one in found), reverse=True)
    assert [one.false_reject_rate for one in found] == sorted(one.false_reject_rate for one in found)


@pytest.mark.slow
def test_held_out_classes_give_the_threshold_for_what_is_new(open_run, run):
    found = threshold(open_run, 0.1)
    assert "held-out classes" in found.basis
    assert 0.03 <= accepted(open_run, found.value, (3, 5, 8)) <= 0.2


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0, 1, -1, float("nan"), 1e-9])
def test_a_rate_that_cannot_be_told_is_refused(run, rate):
    with pytest.raises(UserError, match="false-accept rate"):
        threshold(run, rate)


@pytest.mark.parametrize("spread", [0, 1])
def test_no_threshold_exceeds_its_rate_where_distances_are_equal(spread):
    labels = np.arange(40) % 2
    embeddings = np.stack([spread * labels, 0 * labels], axis=1).astype(np.float32)
    with pytest.raises(UserError, match="100% of the pairs of different classes"):
        threshold_of(embeddings, labels, "40 images", 0.1)


@pytest.mark.parametrize("count", range(2, 9))
def test_the_smallest_rate_that_is_named_has_a_threshold(count):
    labels = np.arange(2 * count) % 2
    embeddings = np.random.default_rng(0).normal(size=(2 * count, 3))
    with pytest.raises(UserError) as refused:
        threshold_of(embeddings, labels, "these images", 1e-6)
    [rate] = re.findall(r"make: (\S+) or more", str(refused.value))
    assert threshold_of(embeddings, labels, "these images", float(rate)).false_accept_rate <= float(rate)


@pytest.mark.slow
def test_a_run_without_validation_images_has_no_threshold_and_is_asked_by_its_test_images(folder, tmp_path, capsys):
    run, digit, out = trained(folder, validation_fraction=0), tmp_path / "digit.png", tmp_path / "out.json"
    with pytest.raises(UserError, match="held none out"):
        threshold(run)
    Image.fromarray(load("digits").test.images[0]).save(digit)
    run_command("ask", run.id, str(digit), "--json", str(out), "--runs", str(folder))
    [answer] = json.loads(out.read_text())
    assert (answer["threshold"], answer["verdict"]) == (None, "known")
    assert "No threshold, so the test images alone" in capsys.readouterr().out


@pytest.mark.slow
def test_a_kept_threshold_is_asked_with_and_exported(run, folder, tmp_path, capsys):
    digit, out = tmp_path / "digit.png", tmp_path / "out.json"
    Image.fromarray(np.kron(load("digits").test.images[0], np.ones((12, 12), np.uint8))).save(digit)

    def asked(*options):
        run_command("ask", run.id, str(digit), "--json", str(out), "--runs", str(folder), *options)
        return json.loads(out.read_text())[0]["threshold"]

    usual = asked()
    assert usual == threshold(run).value
    keep_threshold(run, replace(threshold(run, 0.1), value=usual / 1000))
    assert asked() == usual / 1000
    assert asked("--far", "0.01") == usual
    run_command("export", run.id, "--format", "thresholds", "--runs", str(folder), "--out", str(out))
    assert json.loads(out.read_text())["value"] == usual / 1000
    assert SearchService(run, None).answer(digit.read_bytes(), 3)["confidence"]["title"] == "Unknown"
    (run.path / "thresholds.json").write_text("damaged")
    assert asked() == usual
    assert "The kept threshold is left out: " in capsys.readouterr().out
    assert "The threshold is left out: " in SearchService(run, None).answer(digit.read_bytes(), 3)["notes"][0]
    forget_threshold(run)


@pytest.mark.slow
def test_ask_names_pictures_and_says_which_it_cannot_read(run, folder, tmp_path, capsys):
    digit, text, out = (tmp_path / name for name in ("digit.png", "no picture.png", "out.json"))
    test = load("digits").test
    Image.fromarray(np.kron(test.images[0], np.ones((12, 12), np.uint8))).save(digit)
    text.write_text("text")
    files = [str(file) for file in (digit, text, tmp_path / "none.png")]
    with pytest.raises(SystemExit) as stopped:
        main(["ask", run.id, *files, "--far", "0.05", "--json", str(out), "--runs", str(folder)])
    said = capsys.readouterr()
    assert stopped.value.code == 1
    assert "no picture.png: A picture is a PNG" in said.err
    assert "none.png: The file cannot be read: No such file" in said.err
    assert "pairs of different classes are accepted" in said.out
    known, *unread = json.loads(out.read_text())
    assert (known["verdict"], known["name"]) == ("known", str(test.labels[0]))
    assert known["distance"] <= known["threshold"] == threshold(run, 0.05).value
    assert len(known["neighbors"]) == 5
    assert known["neighbors"][0]["class"] == known["name"]
    assert all(set(one) == {"file", "error"} for one in unread)
