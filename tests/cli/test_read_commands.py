"""Commands that read: `runs`, `evaluate`, `neighbors`, `project`; `lab` and `study`, which also run and delete."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from dmlviz import metrics
from dmlviz.cli import lab as cli_lab
from dmlviz.cli.evaluate import _score_table
from dmlviz.config import TrainConfig
from dmlviz.labs.registry import LABS
from dmlviz.metrics.multi_query import every_other
from dmlviz.runs.store import Runs


def test_runs_lists_title_scores_and_state(trained, run_cli):
    folder, _ = trained
    code, output, _ = run_cli("runs", "--runs", folder)
    run = Runs(folder).list()[0]
    assert code == 0
    for text in (run.id, "Small [one]", f"{run.metrics['precision_at_1']:.4f}", "finished", "12 steps"):
        assert text in output
    assert run_cli("runs", "list", "--runs", folder) == (0, output, "")


def test_evaluate_prints_the_scores_of_the_training(trained, run_cli):
    folder, _ = trained
    run = Runs(folder).list()[0]
    code, output, _ = run_cli("evaluate", run.id, "--confusion", "--runs", folder)
    assert code == 0
    assert output.startswith("Small [one]: ")
    scores = printed_scores(output)
    for key in ("precision_at_1", "map_at_r", "nmi"):
        assert scores[key] == f"{run.metrics[key]:.4f}"
    assert "roc_auc" in scores
    rows = [line.split() for line in output.splitlines() if re.fullmatch(r"\d(\s+[\d·]+){10}\s*", line)]
    assert sum(int(count) for row in rows for count in row[1:] if count != "·") == 596


def test_evaluate_gives_seen_and_unseen_classes_a_column_each():
    scores = {"nmi": 0.5, "seen/nmi": 0.75, "unseen/nmi": 0.25}
    with (console := Console(width=80)).capture() as output:
        console.print(_score_table(scores))
    assert output.get().split() == "all classes seen classes unseen classes nmi 0.5000 0.7500 0.2500".split()


def search_files(folder):
    """Queries (npz, labels as numbers) and a gallery (parquet, labels as texts), each with a camera."""
    import pyarrow
    from pyarrow import parquet

    np.savez(folder / "q.npz", vectors=np.float32([[0.0], [10]]), labels=[7, 8], cam=[0, 0])
    columns = {"x0": np.float32([1, 2, 3, 11]), "label": ["7", "3", "7", "8"], "cam": np.array([0, 0, 1, 1])}
    parquet.write_table(pyarrow.table(columns), folder / "g.parquet")
    return folder / "q.npz", folder / "g.parquet"


def printed_scores(output):
    return dict(line.split() for line in output.splitlines() if re.fullmatch(r"[a-z_0-9]+ +[\d.,]+ *", line))


def test_evaluate_searches_a_gallery_and_leaves_same_camera_matches_out(run_cli, tmp_path):
    query, gallery = search_files(tmp_path)
    code, output, _ = run_cli("evaluate", "--query", query, "--gallery", gallery, "--camera", "cam")
    scores = printed_scores(output)
    assert code == 0
    assert "2 queries of q.npz (1-d) search 4 in g.parquet; matches of one class and one cam left out" in output
    assert (scores["queries"], scores["cmc_at_1"], scores["cmc_at_5"]) == ("2", "0.5000", "1.0000")
    assert scores["map"] == "0.7500"  # 3 is nearer to the first query than the 7 of the other camera
    _, output, _ = run_cli("evaluate", "--query", query, "--camera", "cam", "--gallery", gallery, "--confusion")
    rows = [line.split() for line in output.splitlines() if re.fullmatch(r"\d(\s+[\d·]+){3}\s*", line)]
    assert rows == [["3", "·", "·", "·"], ["7", "1", "·", "·"], ["8", "·", "·", "1"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "got neither"),
        (["RUN", "--query", "q.npz"], "got both"),
        (["RUN", "--camera", "cam"], "go with --query"),
        (["--query", "no.npz"], "no file"),
        (["--query", "q.npz", "--camera", "lens"], "q.npz has vectors, labels, cam and no 'lens'"),
        (["--query", "g.parquet", "--camera", "lens"], "g.parquet has x0, label, cam and no 'lens'"),
        (["--query", "bare.npz"], "bare.npz has none"),
        (["--query", "nan.npz"], "holds NaN"),
        (["--query", "short.npz"], "has 1 labels for 2 vectors"),
        (["--query", "v.npy", "--camera", "cam"], "holds vectors only"),
    ],
)
def test_evaluate_says_in_a_sentence_what_is_wrong_with_files(arguments, said, run_cli, tmp_path):
    search_files(tmp_path)
    np.savez(tmp_path / "bare.npz", vectors=np.zeros((2, 2)))
    np.savez(tmp_path / "nan.npz", vectors=np.full((2, 2), np.nan), labels=[0, 1])
    np.savez(tmp_path / "short.npz", vectors=np.zeros((2, 2)), labels=[0])
    np.save(tmp_path / "v.npy", np.zeros((2, 2)))
    given = [
        tmp_path / argument if argument.endswith((".npz", ".npy", ".parquet")) else argument for argument in arguments
    ]
    code, _, error = run_cli("evaluate", *given)
    assert code != 0
    assert said in " ".join(error.split())


def test_neighbors_prints_item_class_and_distance(trained, run_cli):
    folder, _ = trained
    run = Runs(folder).list()[0]
    code, output, _ = run_cli("neighbors", run.id, 5, "-k", 3, "--runs", folder)
    assert code == 0
    assert output.startswith("Small [one]: ")
    expected = [(str(n.item), str(n.label), f"{n.distance:.4f}") for n in run.neighbors(5, 3)]
    rows = [tuple(line.split()[:3]) for line in output.splitlines()[-3:]]
    assert rows == expected


def test_neighbors_of_all_images_are_counted_and_written(trained, run_cli, tmp_path):
    folder, _ = trained
    run, out = Runs(folder).list()[0], tmp_path / "all.npz"
    code, output, _ = run_cli("neighbors", run.id, "--out", out, "--runs", folder)
    assert code == 0
    table = run.all_neighbors()
    with np.load(out) as stored:
        assert (stored["indices"] == table.indices).all()
    wrong = (run.labels[table.indices[:, 0]] != run.labels).mean()
    assert f"{len(run.labels):,} test images, by exact search" in output
    assert f"another class: {wrong:.1%}" in output
    for wish, said in ((("-k", 3), "name an image"), ((5, "--out", out), "leave out the number")):
        code, _, error = run_cli("neighbors", run.id, *wish, "--runs", folder)
        assert code != 0
        assert said in " ".join(error.split())


def test_project_saves_a_projection_and_writes_every_image_to_csv(trained, run_cli, tmp_path):
    folder, _ = trained
    run = Runs(folder).list()[0]
    table = tmp_path / "map.csv"
    code, output, _ = run_cli("project", run.id, "--dims", 3, "--csv", table, "--runs", folder)
    assert code == 0
    projection = next(projection for projection in run.projections() if projection.config.dims == 3)
    rows = [line.split(",") for line in table.read_text().splitlines()]
    assert rows[0] == ["image", "class", "x", "y", "z"]
    assert [int(row[1]) for row in rows[1:]] == run.labels.tolist()
    assert np.allclose([[float(value) for value in row[2:]] for row in rows[1:]], projection.coordinates)
    assert "trustworthiness 0." in output


@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_project_reads_an_embeddings_file(run_cli, tmp_path, kind):
    import pyarrow
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    vectors, classes = rng.normal(size=(40, 5)).astype(np.float32), ["ab"[i % 2] for i in range(40)]
    path = tmp_path / f"some.{kind}"
    if kind == "npy":
        np.save(path, vectors)
    else:
        table = pyarrow.table({f"f{i}": vectors[:, i] for i in range(5)} | {"label": classes})
        (csv.write_csv if kind == "csv" else parquet.write_table)(table, path)
    code, output, _ = run_cli("project", path, "--method", "umap", "--param", "iterations=10")
    assert code == 0
    assert "trustworthiness 0." in output
    rows = [line.split(",") for line in (tmp_path / "some-umap.csv").read_text().splitlines()]
    assert rows[0] == (["row", "x", "y"] if kind == "npy" else ["row", "class", "x", "y"])
    assert len(rows) == 41
    assert kind == "npy" or [row[1] for row in rows[1:]] == classes


@pytest.mark.parametrize(("method", "said"), [("tsne", "perplexity = 3: 30"), ("umap", "neighbors = 8: 15")])
def test_project_of_few_points_says_what_is_lowered(method, said, run_cli, tmp_path):
    np.save(tmp_path / "few.npy", np.random.default_rng(0).normal(size=(9, 5)))
    code, output, _ = run_cli("project", tmp_path / "few.npy", "--method", method, "--param", "iterations=10")
    assert code == 0
    assert f"of 9 points is drawn with {said} is for more points." in output


def test_project_supports_the_reference_engine(run_cli, tmp_path):
    np.save(tmp_path / "some.npy", np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32))
    arguments = ["project", tmp_path / "some.npy", "--method", "tsne", "--engine", "reference"]
    params = [text for pair in ("metric=cosine", "iterations=250", "perplexity=5") for text in ("--param", pair)]
    code, output, _ = run_cli(*arguments, *params)
    assert code == 0
    assert "t-SNE by scikit-learn: trustworthiness 0." in output
    assert len((tmp_path / "some-scikit-learn.csv").read_text().splitlines()) == 41
    code, _, error = run_cli(*arguments, "--param", "metric=hamming")
    assert code == 2
    assert "scikit-learn: metric is one of euclidean, cosine" in error


def test_a_map_that_follows_writes_a_step_column(trained, run_cli, tmp_path):
    folder, _ = trained
    run, table = Runs(folder).list()[0], tmp_path / "epochs.csv"
    code, _, _ = run_cli("project", run.id, "--follow", "--csv", table, "--runs", folder)
    assert code == 0
    rows = [line.split(",") for line in table.read_text().splitlines()]
    assert rows[0] == ["step", "image", "class", "x", "y"]
    assert sorted({int(row[0]) for row in rows[1:]}) == run.embedded_steps
    earlier = [row for row in rows[1:] if int(row[0]) < run.end_step]
    assert len(earlier) == (len(run.embedded_steps) - 1) * len(run.tracked_indices)
    assert len(rows) == 1 + len(earlier) + len(run.labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/nowhere/x.npy"], "No such file"),
        (["broken.npy"], "could not be read as npy"),
        (["broken.npy", "--follow"], "--follow, --step and --subset need a run"),
    ],
)
def test_a_bad_embeddings_file_is_one_sentence(run_cli, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.npy").write_bytes(b"no array")
    code, _, error = run_cli("project", *arguments)
    assert code == 2
    assert message in " ".join(error.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "tsnee"], "did you mean 'tsne'"),
        (["--param", "x=0"], "x lies between"),
        (["--csv", "/nowhere/map.csv"], "/nowhere/map.csv cannot be written"),
    ],
)
def test_a_bad_projection_setting_is_one_sentence(trained, run_cli, arguments, message):
    folder, _ = trained
    code, _, error = run_cli("project", Runs(folder).list()[0].id, *arguments, "--runs", folder)
    assert code == 2
    assert message in error


@pytest.mark.parametrize("command", [["evaluate", "0" * 16], ["neighbors", "../../etc", "1"], ["project", "x"]])
def test_a_missing_run_is_one_sentence(run_cli, tmp_path, command):
    code, _, error = run_cli(*command, "--runs", tmp_path)
    assert code == 2
    assert "There is no run" in error


@pytest.mark.parametrize(
    "words", [["report", "-o"], ["export", "--format", "csv", "-o"], ["evaluate", "--json"], ["neighbors", "--out"]]
)
def test_a_file_that_cannot_be_written_is_one_sentence(trained, run_cli, tmp_path, words):
    (tmp_path / "file").touch()
    for place, said in (("nowhere/x", "No such file or directory"), ("file/x", "Not a directory")):
        target = tmp_path / place
        code, _, err = run_cli(words[0], "latest", *words[1:], target, "--runs", trained[0])
        assert (code, err) == (2, f"Cannot read or write {target}: {said}.\n")


def test_a_run_may_be_given_by_its_title(trained, run_cli):
    folder, _ = trained
    run = Runs(folder).list()[0]
    assert run_cli("evaluate", run.title, "--runs", folder) == run_cli("evaluate", run.id, "--runs", folder)


def test_evaluate_prints_scores_re_ranked_and_of_pooled_queries_beside_those_before(trained, run_cli):
    folder, _ = trained
    run = Runs(folder).list()[0]
    code, output, _ = run_cli("evaluate", run.id, "--rerank", "--multi-query", "3", "--runs", folder)
    assert code == 0
    row = next(line.split() for line in output.splitlines() if line.startswith("map_at_r") and len(line.split()) == 3)
    assert row[1] == f"{run.metrics['map_at_r']:.4f}"
    assert row[2] == f"{metrics.reranked(run.embeddings, run.labels)['map_at_r']:.4f}"
    row = next(line.split() for line in output.splitlines() if line.startswith("map_at_r") and len(line.split()) == 7)
    asks, expected = every_other(run.labels), []
    for size, pool in ((1, "mean"), (3, "mean"), (3, "max")):
        points, rows = metrics.pooled_queries(run.embeddings[asks], run.labels[asks], size, pool)
        for score in (metrics.evaluate, metrics.reranked):
            found = score(points, run.labels[asks][rows], run.embeddings[~asks], run.labels[~asks])
            expected.append(f"{found['map_at_r']:.4f}")
    assert row[1:] == expected


def test_evaluate_prints_the_scores_of_crops_beside_those_of_one_image(trained, run_cli):
    folder, _ = trained
    run = Runs(folder).list()[0]
    code, output, _ = run_cli("evaluate", run.id, "--crops", "9", "--runs", folder)
    assert code == 0
    row = next(line.split() for line in output.splitlines() if line.startswith("map_at_r") and len(line.split()) == 4)
    assert row[1] == f"{run.metrics['map_at_r']:.4f}"
    assert len({*row[1:]}) == 3
    code, _, error = run_cli("evaluate", run.id, "--crops", "4", "--runs", folder)
    assert code != 0
    assert "1, 9 or 25; got 4" in error


@pytest.mark.parametrize(
    "command",
    [
        *("runs", "evaluate latest --confusion", "evaluate latest --crops 9", "neighbors latest 3", "gallery latest"),
        *("data list", "study", "lab"),
    ],
)
def test_json_is_the_table_for_programs_and_nothing_else(trained, run_cli, tmp_path, command):
    folder, _ = trained
    run = Runs(folder).list()[0]
    arguments = [*command.split(), *(["--runs", folder] if command not in ("data list", "lab") else [])]
    code, printed, _ = run_cli(*arguments, "--json", "-")
    assert code == 0
    found = json.loads(printed)
    code, table, _ = run_cli(*arguments, "--json", tmp_path / "results.json")
    assert json.loads((tmp_path / "results.json").read_text()) == found
    assert table == run_cli(*arguments)[1]
    if command == "runs":
        assert found[0]["scores"] == run.metrics
        assert TrainConfig(**found[0]["config"]) == run.config
    if command == "neighbors latest 3":
        assert [each["item"] for each in found] == [each.item for each in run.neighbors(3, 10)]
    if command.startswith("evaluate"):
        assert found["scores"]["map_at_r"] == pytest.approx(run.metrics["map_at_r"])
    if "--confusion" in command:
        assert np.sum(found["confusion"]["counts"]) == 596


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of runs."""
    monkeypatch.setenv("DMLVIZ_RUNS", str(tmp_path))
    monkeypatch.setenv("DMLVIZ_NICENESS", "0")  # the command sets it, for its workers
    return tmp_path


@pytest.mark.slow
def test_a_lab_is_run_shown_and_deleted(run_cli, folder, counting, monkeypatch):
    monkeypatch.setenv("TRIAL_1", "fails")
    file = folder / "rows.json"
    code, shown, _ = run_cli("lab", "counting", "--quick", "--json", str(file))
    assert code == 0
    assert "trial_1 failed: The training diverged." in shown
    rows = json.loads(file.read_text())
    assert sorted(row["x"] for row in rows) == [0, 2]
    assert set(rows[0]) == {"figure", "series", "x", "y", "low", "high", "n"}
    shown = run_cli("study")[1]
    assert "counting-quick-digits" in shown
    assert "finished" in shown
    assert "Squares" in run_cli("study", "show", "counting-quick-digits")[1]
    code, _, errors = run_cli("study", "stop", "counting-quick-digits")
    assert code == 2
    assert "is not running: it is finished" in errors
    assert run_cli("study", "delete", "counting-quick-digits")[0] == 0
    assert "No studies in" in run_cli("study")[1]


@pytest.mark.slow
def test_all_labs_are_run_and_a_page_written_which_says_what_failed(run_cli, folder, counting, monkeypatch):
    monkeypatch.setattr(cli_lab, "LABS", {"counting": LABS["counting"], "reid": replace(LABS["reid"], datasets=("x",))})
    code, shown, _ = run_cli("lab", "all", "--quick", "--page", str(folder / "page.html"))
    assert code == 0
    assert "2 of 2 labs" in shown
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert re.search(r"\b(\d+) of \1 trials failed\.", page)
    assert "Hermans" in page


def test_the_list_names_every_lab_with_its_cost(run_cli):
    code, shown, _ = run_cli("lab")
    assert code == 0
    assert all(name in shown for name in LABS)
    assert "trials," in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lab", "margin"], "There is no lab called 'margin': did you mean 'margins'?"),
        (
            ["lab", "margins", "--dataset", "cifar"],
            "The lab margins uses mnist or fashion_mnist or digits; got 'cifar'.",
        ),
        (["lab", "all", "--dataset", "mnist"], "leave out --dataset"),
        (["lab", "margins", "--page", "x.html"], "--page is of all labs: dmlviz lab all --page x.html."),
        (["study", "resume", "nothing"], "There is no study 'nothing'"),
        (["study", "--runs", "x", "show", "y"], "Put --runs after the subcommand"),
    ],
)
def test_wrong_words_get_one_sentence(run_cli, folder, words, message):
    code, _, errors = run_cli(*words)
    assert code == 2
    assert message in errors
