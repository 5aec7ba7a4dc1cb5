"""The report of a test: its numbers are those of the metrics, and what cannot be said is said."""

import html
import io
import re
import shutil

import numpy as np
import pyarrow as pa
import pytest

from dmlviz import metrics
from dmlviz.cli.main import main
from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.export import RunExport, write
from dmlviz.export.report import RATES, _tested, _worst
from dmlviz.figures.data import Images
from dmlviz.runs.add_data import add_data
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.thresholds import threshold
from dmlviz.runs.training_run import train_and_record


def report(export):
    file = io.BytesIO()
    write("report", export, file)
    return file.getvalue().decode()


def cells(text, row):
    """The first number of each cell of a row."""
    found = re.search(rf"<tr><th>{re.escape(row)}</th>(.*?)</tr>", text)
    return [float(cell.rstrip("%")) for cell in re.findall(r"<td>([^ <]+)", found[1])]


@pytest.fixture(scope="module")
def text(kept):
    return report(kept)


@pytest.fixture
def imported(tmp_path):
    def imported(labels, points=None):
        points = np.random.default_rng(0).normal(size=(len(labels), 4)).astype(np.float32) if points is None else points
        table = pa.table({"vector": points.tolist(), "label": labels})
        return RunExport(add_data(table, title="t", runs=tmp_path, report=lambda line: None))

    return imported


@pytest.mark.slow
def test_scores_and_thresholds_are_those_of_the_run(text, kept):
    assert cells(text, "Area under the ROC")[0] == pytest.approx(kept.run.metrics["roc_auc"], abs=1e-4)
    assert cells(text, "Equal error rate")[0] == pytest.approx(kept.run.metrics["eer"], abs=1e-4)
    assert cells(text, "Recall@1")[0] == pytest.approx(kept.run.metrics["precision_at_1"], abs=1e-4)
    points = kept.embeddings.astype(float)
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    other = kept.labels[:, None] != kept.labels
    same = ~other & ~np.eye(len(other), dtype=bool)
    for rate in RATES[:2]:
        value, _, lost, tested, lost_in_test = cells(text, f"{100 * rate:g}%")
        found = threshold(kept.run, rate)
        assert value == pytest.approx(found.value, rel=1e-2)
        assert lost == pytest.approx(100 * found.false_reject_rate, abs=0.01)
        assert tested == pytest.approx(100 * (distances <= found.value)[other].mean(), abs=0.3)
        assert lost_in_test == pytest.approx(100 * (distances > found.value)[same].mean(), abs=0.3)


def test_the_file_needs_no_script_and_no_network_and_takes_no_name_for_markup(text, kept):
    assert "<script" not in text
    assert not re.search(r"(src|href)=.(?!data:)", text)
    assert "default-src 'none'" in text
    assert html.escape(kept.run.title) in text
    assert kept.run.title not in text
    assert text.count("<img ") == text.count('src="data:image/png;base64,') >= 24
    assert f"dmlviz report {kept.run.id}" in text
    assert "--loss triplet" in text


def test_intervals_come_from_the_classes(kept):
    """Where one class is far worse than nine others, the classes that are drawn decide; too few give none."""
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(10), 30)
    points = 10 * np.eye(10)[labels] + rng.normal(size=(300, 10)) * np.where(labels == 3, 8, 0.5)[:, None]
    test = _tested("all classes", Images(points, labels, (), ""))
    value, low, high = test.scores["Area under the ROC"]
    assert low < value < high == pytest.approx(1, abs=1e-3)
    hits = [metrics.evaluate(points[labels != out], labels[labels != out])["precision_at_1"] for out in (3, 4)]
    assert test.found[1, 0] < min(hits) < test.found[0, 0] + 0.1
    assert test.found[2, 0] >= max(hits) - 1e-9
    few = _tested("all classes", Images(points[labels < 4], labels[labels < 4], (), ""))
    assert np.isnan(few.found[1:]).all()


@pytest.mark.parametrize(("kind", "sign"), [("different", 1), ("same", -1)])
def test_the_worst_errors_are_the_nearest_and_the_farthest_pairs(kind, sign):
    rng = np.random.default_rng(1)
    points, labels = rng.normal(size=(80, 3)) + 1e4, np.arange(80) % 4
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    wanted = (labels[:, None] != labels) if kind == "different" else (labels[:, None] == labels)
    order = np.sort(sign * distances[np.triu(wanted, 1)]) * sign
    shown = [
        float(value)
        for value in re.findall("<b>([^<]+)</b>", _worst(Images(points, labels, (), ""), kind, order[30], None, str))
    ]
    assert shown[0] == pytest.approx(order[0], rel=1e-2)
    assert shown == sorted(shown, reverse=sign < 0)
    assert 0 < len(shown) <= 12


def test_embeddings_without_a_net_say_where_their_thresholds_come_from(imported):
    text = report(imported(["<i>a</i>", "b", "c", "d", "e", "f"] * 20))
    assert "which flatters them" in text
    assert "120 of the tested rows" in text
    assert "image" not in text.partition("</style>")[2].replace("image/png", "")  # of rows
    assert "<i>a" not in text
    assert "not trained here" in text
    assert "loss" not in text


@pytest.mark.parametrize("labels", [["a"] * 20, [""] * 20, [f"{i}" for i in range(20)]])
def test_what_has_no_two_classes_or_no_pair_is_refused(imported, labels):
    with pytest.raises(UserError, match=r"^A report needs two rows of one class, .* has (20|0) rows of (1|20|0) class"):
        report(imported(labels))


def test_few_pairs_say_what_they_cannot_tell(imported):
    text = report(imported(["a", "a", "b", "b", "", ""]))
    assert "No threshold for 10%, 1%, 0.1% false accepts" in text
    assert "2 classes are too few" in text
    assert "2 rows without a label are left out" in text
    assert "None could be found" in text


def test_distances_that_are_all_equal_are_drawn(imported):
    text = report(imported(["a", "a", "b", "b"] * 5, points=np.zeros((20, 3), np.float32)))
    assert "nan" not in text.split("<h2>All settings")[0].lower().replace("nance", "")
    assert "No threshold for 10%" in text


@pytest.mark.slow
def test_held_out_classes_are_tested_by_themselves(tmp_path):
    config = TrainConfig(dataset="digits", net="mlp", steps=30, num_snapshots=2, held_out_classes=(1, 2, 7))
    run = Runs(tmp_path).create(config)
    list(train_and_record(run))
    text = report(RunExport(run))
    assert "<th>held-out classes</th>" in text
    own = np.isin(run.labels, config.held_out_classes)
    expected = metrics.evaluate(run.embeddings[own], run.labels[own])
    assert cells(text, "Recall@1")[1] == pytest.approx(expected["precision_at_1"], abs=1e-4)
    assert "validation images of the held-out classes" in text


@pytest.mark.slow
def test_the_command_writes_the_file_and_refuses_a_damaged_run_in_a_sentence(kept, tmp_path, capsys):
    copy = shutil.copytree(kept.run.path, tmp_path / "runs" / kept.run.id)
    arguments = ["report", kept.run.id, "--runs", str(tmp_path / "runs"), "--output", str(tmp_path / "r.html")]
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0
    assert "Equal error rate" in (tmp_path / "r.html").read_text()
    (copy / "embeddings.npy").write_bytes(b"cut")
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "embeddings.npy" in capsys.readouterr().err
    assert Run(copy).state == "finished"
