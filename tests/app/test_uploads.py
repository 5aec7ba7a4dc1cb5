"""Uploads: read by a worker, previewed, saved or discarded."""

import ast
import io
import json
import re
import threading
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow as pa
import pytest
import streamlit as st
from dmlviz_app.explore.upload_dialog import without_flags
from dmlviz_app.people.personal_jobs import PersonalJobs
from dmlviz_app.server.uploads import UploadManager
from PIL import Image
from pyarrow import parquet

from dmlviz import add_data, data
from dmlviz.catalog import custom_datasets
from dmlviz.catalog.datasets import DATASETS
from dmlviz.errors import UserError
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.recording.inputs import recorded_dataset
from dmlviz.recording.run_writer import RunPlan, RunWriter
from dmlviz.runs.store import Runs
from dmlviz.workers import answers
from tests.app.pages import open_page
from tests.data.test_loading import NAMES, SHARED, renamed_mnist
from tests.waiting import until


def pets(broken=False):
    """A zip of two classes."""
    file, rng = io.BytesIO(), np.random.default_rng(0)
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("cat", "dog"):
            for i in range(6):
                picture = io.BytesIO()
                Image.fromarray(rng.integers(0, 256, (20, 20, 3), np.uint8)).save(picture, "PNG")
                archive.writestr(f"{name}/{i}.png", b"broken" if broken else picture.getvalue())
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    jobs = JobScheduler(Runs(folder, folder / "none"), warm=False)
    yield jobs
    jobs.close()


@pytest.fixture
def intake(tmp_path, jobs):
    intake = UploadManager(tmp_path / "data", jobs)
    yield intake
    intake.close()
    until(lambda: not jobs.running_for(answers=True))
    assert list((tmp_path / "data").rglob(".upload-*")) == [], "something is left behind"


def upload(intake, owner, files):
    intake.upload(owner, {name: io.BytesIO(content) for name, content in files.items()})


def read(intake, owner="a"):
    until(lambda: not intake.status(owner).is_live)
    return intake.status(owner)


def test_a_zip_is_imported_previewed_and_saved_under_its_title(intake):
    upload(intake, "a", {"my_pets.zip": pets()})
    preview = read(intake).preview
    assert preview["title"] == "my pets"
    assert [one["name"] for one in preview["classes"]] == ["cat", "dog"]
    assert preview["tiles"]["counts"] == [4, 4]
    json.dumps(preview)
    assert list(custom_datasets.list_names(intake.data)) == [], "nothing is kept before it is asked for"
    assert intake.accept("a", " Cats  and dogs ") == ("pictures", preview["name"])
    assert DATASETS[preview["name"]].title == "Cats and dogs"
    assert data.load(preview["name"], intake.data).size == 20
    assert intake.status("a") is None


def test_files_as_those_of_mnist_are_imported_together_and_mnist_itself_goes_where_it_is_looked_for(intake, tmp_path):
    renamed_mnist(tmp_path / "own", NAMES["with a dot, as Kaggle has them"], ".gz")
    upload(intake, "a", {path.name: path.read_bytes() for path in (tmp_path / "own").iterdir()})
    preview = read(intake).preview
    assert preview["taken"] == 30
    assert custom_datasets.is_custom(intake.accept("a", "Mine")[1])
    if (SHARED / "MNIST").exists():
        files = (SHARED / "MNIST" / "raw").glob("*-ubyte")
        upload(intake, "a", {path.name.replace("-idx", ".idx"): path.read_bytes() for path in files})
        assert read(intake).preview["notes"][0] == "These are the files of MNIST."
        assert intake.accept("a", "Anything") == ("pictures", "mnist")
        assert "mnist" in data.available_datasets(intake.data)


def test_uploaded_files_can_be_read_again_with_other_options(intake):
    upload(intake, "a", {"pets.zip": pets()})
    assert read(intake).preview["side"] == 20
    intake.reparse("a", side=28, color="gray")
    preview = read(intake).preview
    assert preview["side"] == 28
    kind, name = intake.accept("a", "")
    assert (kind, name) == ("pictures", preview["name"])
    assert data.load(name, intake.data).channels == 1
    assert len(list(custom_datasets.list_names(intake.data))) == 1


def test_two_columns_with_classes_are_shown_as_they_are_or_trained_on_as_points(intake):
    rows = [f"{x / 40},{x % 7 / 7},{'ab'[x % 2]}" for x in range(40)]
    upload(intake, "a", {"plane.csv": "\n".join(["x,y,label", *rows]).encode()})
    preview = read(intake).preview
    assert (preview["kind"], preview["plane"]) == ("vectors", True)
    intake.reparse("a", points=True)
    assert read(intake).preview["summary"] == "Your own: 40 points of 2 classes; 32 to train on, 8 to test on."
    kind, name = intake.accept("a", "")
    assert kind == "pictures"
    assert DATASETS[name].of_points


def test_an_invalid_upload_is_one_sentence_and_can_be_replaced(intake):
    upload(intake, "a", {"pets.zip": pets(broken=True)})
    failed = read(intake)
    assert failed.phase == "failed"
    assert "2 classes or more" in failed.reason
    with pytest.raises(UserError, match="nothing to keep"):
        intake.accept("a", "x")
    upload(intake, "a", {"pets.zip": pets()})
    assert read(intake).phase == "finished"


def test_people_do_not_see_uploads_of_others(intake):
    upload(intake, "a", {"pets.zip": pets()})
    assert intake.status("b") is None
    intake.discard("b")
    assert read(intake).phase == "finished"


@pytest.mark.slow
def test_a_killed_worker_is_one_sentence_and_the_files_can_be_read_again(intake, jobs):
    upload(intake, "a", {"pets.zip": pets()})
    for worker in [*jobs.turns.active]:
        worker.kill()
    assert read(intake).reason == "Reading this took too much time or memory; bring less at a time."
    intake.reparse("a", side=None)
    assert read(intake).phase == "finished"
    intake.reparse("a", side=28)
    intake.reparse("a", side=32)
    assert read(intake).preview["side"] == 32
    until(lambda: len([*intake._uploads["a"].folder.glob("*/order.json")]) == 1)


def test_uploads_wait_for_their_turn_and_say_so(intake, jobs, monkeypatch):
    go = threading.Event()
    monkeypatch.setattr(answers, "upload", lambda target, request: go.wait(20) and "")
    for person in "abc":
        upload(intake, person, {"pets.zip": pets()})
    assert [intake.status(person).phase for person in "abc"][2] == "queued"
    assert (intake.status("c").position, intake.status("c").of) == (1, 1)
    intake.discard("c")
    assert intake.status("c") is None
    go.set()
    read(intake, "a")
    read(intake, "b")


def test_embeddings_with_a_label_file_become_a_run(intake):
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    vectors = rng.normal(size=(60, 7)).astype(np.float32) + 9 * np.eye(3, 7, dtype=np.float32)[labels]
    upload(intake, "a", {"words.npy": npy(vectors), "labels.txt": "\n".join("abc"[label] for label in labels).encode()})
    preview = read(intake).preview
    assert preview["kind"] == "vectors"
    assert "60 precomputed embeddings, 7-d, 3 classes" in preview["summary"]
    kind, name = intake.accept("a", "Words")
    run = intake.scheduler.runs.get(name)
    assert (kind, run.title, run.state) == ("vectors", "Words", "finished")
    assert np.array_equal(run.embeddings, vectors)
    assert run.metrics["precision_at_1"] == 1
    assert DATASETS[run.config.dataset].classes == ("a", "b", "c")
    assert run.neighbors(0, 5)[0].label == 0
    assert not (run.path / "weights.safetensors").exists()


@pytest.mark.parametrize(
    "names", [["a.zip", "b.zip"], ["a.npy", "b.npy"], ["a.txt"], ["labels.txt"], ["a.npy", "labels.txt", "more.csv"]]
)
def test_files_that_are_not_one_data_set_are_one_sentence(intake, names):
    with pytest.raises(UserError, match="Bring one zip"):
        upload(intake, "a", dict.fromkeys(names, b""))
    assert intake.status("a") is None


def test_uploads_left_by_a_killed_server_are_deleted(tmp_path, jobs):
    left = tmp_path / "data" / "own" / ".upload-0123456789abcdef"
    left.mkdir(parents=True)
    UploadManager(tmp_path / "data", jobs)
    assert not left.exists()


def test_uploads_of_a_server_that_lives_stay_when_another_one_starts_on_the_same_data(intake, tmp_path, jobs):
    upload(intake, "a", {"my_pets.zip": pets()})
    other = UploadManager(tmp_path / "data", jobs)
    assert read(intake).phase == "finished"
    kind, name = intake.accept("a", "Pets")
    assert (kind, data.load(name, intake.data).size) == ("pictures", 20)
    assert other.status("a") is None


def table(**columns):
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def test_a_table_with_vectors_and_pictures_is_a_run_that_shows_them(intake):
    image = io.BytesIO()
    Image.new("RGB", (12, 12), "red").save(image, "PNG")
    vectors = np.random.default_rng(0).normal(size=(8, 3)).tolist()
    upload(intake, "a", {"things.parquet": table(image=[image.getvalue()] * 8, vector=vectors, price=np.arange(8.0))})
    preview = read(intake).preview
    assert "Columns to color and search by: price." in preview["notes"]
    kind, run = intake.accept("a", "")
    assert kind == "vectors"
    kept = intake.scheduler.runs.get(run)
    assert kept.columns.column_names == ["price"]
    assert data.load(kept.config.dataset, intake.data).test.images.shape == (8, 12, 12, 3)


def test_a_table_that_somebody_sends_reads_no_file_of_the_server(intake, tmp_path):
    secret = tmp_path / "secret.png"
    Image.new("RGB", (12, 12), "red").save(secret)
    upload(intake, "a", {"things.parquet": table(image=[str(secret)] * 8, label=["a", "b"] * 4)})
    status = read(intake)
    assert status.phase == "failed"
    assert "a path, which a server does not follow" in status.reason


OF_THE_SERVER = {"download.py", "corrections.py"}  # of the data folder, not of a person's files


def messages():
    for path in sorted(Path(data.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
            is_text = isinstance(node, ast.JoinedStr) or (
                isinstance(node, ast.Constant) and isinstance(node.value, str)
            )
            is_piece = text.startswith(" is a class")  # of a message that is here as a whole, too
            if is_text and re.search("--[a-z]", text) and not is_piece and path.name not in OF_THE_SERVER:
                yield pytest.param(text, id=f"{path.name}:{node.lineno}")


@pytest.mark.parametrize("text", [*messages()])
def test_a_message_about_files_names_no_option_on_a_page(text):
    assert not re.search("--[a-z]", without_flags(text)), text


@pytest.fixture(autouse=True)
def menus_are_open(monkeypatch):
    popover = st.popover

    def opened(*args, **kwargs):
        menu = popover(*args, **kwargs)
        menu.open = True
        return menu

    monkeypatch.setattr(st, "popover", opened)


def epochs(page):
    """The choices of epochs; None without the field."""
    assert any(button.label == "Draw" for button in page.button)
    return next((box.options for box in page.selectbox if box.label == "Epoch"), None)


@pytest.mark.slow
def test_draw_goes_on_with_the_same_map(here, run, monkeypatch):
    """One whose worker was killed has its layouts; the page promises that they stay."""
    asked, project = [], PersonalJobs.project

    def note(self, *args, **how):
        asked.append(how)
        project(self, *args, **how)

    monkeypatch.setattr(PersonalJobs, "project", note)
    page = open_page(run=run.id, view="pca")
    next(button for button in page.button if button.label == "Draw").click().run()
    assert asked[-1]["resume"]


@pytest.mark.slow
def test_imported_vectors_have_no_epochs_to_choose(here):
    table = pyarrow.table({"x": [*range(20)], "y": [*range(20)], "z": [1.5] * 20, "q": [2.5] * 20})
    own = add_data(table, vector="x,y,z,q", data=here.data, runs=here.runs.folder, report=str)
    assert epochs(open_page(run=own.id, view="tsne")) is None


def test_the_scores_of_points_without_pictures_have_no_baseline_of_pixels(here, client):
    own = add_data(
        pyarrow.table({"x": [*range(20)], "y": [*range(20)]}), data=here.data, runs=here.runs.folder, report=str
    )
    answer = client.get(f"/dmlviz/runs/{own.id}/baseline.json")
    assert (answer.status_code, answer.json()) == (200, None)


@pytest.fixture(params=["recorded", "table"])
def vectors(here, request):
    points, labels = np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 3
    if request.param == "table":
        table = pyarrow.table({f"x{i}": points[:, i] for i in range(5)} | {"label": labels})
        return add_data(table, data=here.data, runs=here.runs.folder, report=str)
    spec = recorded_dataset("mine", None, labels, ("a", "b", "c"))
    with RunWriter(RunPlan(here.runs.folder, "mine", "0" * 16, spec.to_dict()), labels, points) as writer:
        writer.snapshot(3, points)
        writer.end("", 1.0, 1.0)
    return writer.run


def test_whatever_the_page_asks_of_points_without_pictures_is_answered(client, vectors):
    for path in (
        *(
            "events",
            "tracked_items.json",
            "labels.u16",
            "nearest.bin",
            "per_query.bin",
            "columns.json",
            "baseline.json",
        ),
        *("neighbors/4.json", "neighbor-history/4.json", "example.json", "pair/4/5.json", "values/live/center.f32"),
        *("values/live/faithfulness.f32", "thumbnail-light.png"),
    ):
        assert client.get(f"/dmlviz/runs/{vectors.id}/{path}").status_code == 200, path


@pytest.mark.slow
def test_recorded_points_are_not_called_test_images(here):
    points, labels = np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 3
    spec = recorded_dataset("mine", None, labels, ("a", "b", "c"))
    with RunWriter(RunPlan(here.runs.folder, "mine", "0" * 16, spec.to_dict()), labels, points) as writer:
        writer.snapshot(3, points)
        writer.end("", 1.0, 1.0)
    assert epochs(open_page(run=writer.run.id, view="tsne")) == [
        "Final: all 30 rows",
        "All epochs (1): 30 tracked rows",
        "Step 3: 30 tracked rows",
    ]
