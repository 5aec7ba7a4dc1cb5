"""Pictures that are kept under names with a run: found by the next query, exported, carried along, removed."""

import errno
import io
import json
import os
import shutil
import threading
import zipfile

import numpy as np
import pytest
from PIL import Image

from dmlviz.cli.main import main
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data import load
from dmlviz.data.frame import Frame, picture_hints
from dmlviz.errors import DamagedFileError, DiskFullError, UserError
from dmlviz.runs import gallery as gallery_module
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.damage import damage_summary, run_damage
from dmlviz.runs.embed import embed
from dmlviz.runs.gallery import Gallery, GalleryNeighbor, name_of, read_named
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.quota import run_size
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.search_api.service import SearchService
from dmlviz.storage.disk_space import disk_full
from dmlviz.workers import questions

CONFIG = TrainConfig(dataset="digits", net="mlp", steps=40, num_snapshots=2)
NAMES = ("smiley", "<b>bold</b>", "../../etc", "a/b:c?", "50%", "..", "名前", "é " + "x" * 58)
NAMES += ("Thumbs.db", "__MACOSX", ".hidden", "lost+found", "a.")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    run = Runs(tmp_path_factory.mktemp("trained")).create(CONFIG)
    list(train_and_record(run))
    return run


@pytest.fixture
def run(trained, tmp_path):
    shutil.copytree(trained.path, tmp_path / "runs" / trained.id)
    return Run(tmp_path / "runs" / trained.id)


@pytest.fixture(scope="module")
def images():
    return load("digits").train.images


def test_a_kept_picture_is_found_with_its_distance_by_a_new_reader(run, images):
    kept, twins = Gallery(run).add(images[:4], ["smiley", "star", "smiley", "7"])
    query = embed(run, images[:1])[0]
    near = Gallery(Run(run.path)).nearest(query, 3)
    expected = np.linalg.norm(embed(run, images[:4]) - query, axis=1)
    assert near[0] == (kept[0].id, "smiley", pytest.approx(0, abs=1e-5))
    assert [one.distance for one in near] == pytest.approx(sorted(expected)[:3], rel=1e-4, abs=1e-5)
    assert Gallery(run).names() == {"smiley": 2, "star": 1, "7": 1}
    assert not twins


def test_a_picture_is_kept_once_under_a_name_and_said_under_two(run, images):
    first, _ = Gallery(run).add(images[:1], ["one"])
    again, twins = Gallery(run).add(images[:1], ["one"])
    assert (first, twins, len(Gallery(run).pictures())) == (again, "", 1)
    _, twins = Gallery(run).add(images[:1], ["two"])
    assert twins == "The same picture is kept as “one” and “two”; both stay."
    assert len(Gallery(run).pictures()) == 2
    Gallery(run).remove(["one"])
    assert [one.name for one in Gallery(run).pictures()] == ["two"]
    assert not list(run.path.glob(f"gallery/{first[0].id}*"))


@pytest.mark.parametrize("name", ["", " \u202e\n", "x" * 61])
def test_a_name_has_a_letter_and_60_at_most(run, images, name):
    with pytest.raises(UserError, match=r"name .*[.]$"):
        Gallery(run).add(images[:2], ["good", name])
    assert not Gallery(run).pictures()


def test_a_name_turns_no_text_around(run, images):
    kept, _ = Gallery(run).add(images[:1], ["  a\u202ebc\x1b[31m  d "])
    assert kept[0].name == "abc[31m d"


def test_an_export_is_imported_pixel_by_pixel_whatever_the_names_are(run, images, tmp_path):
    Gallery(run).add(images[: len(NAMES)], NAMES)
    file = io.BytesIO()
    assert Gallery(run).export(file) == len(NAMES)
    with zipfile.ZipFile(file) as archive:
        assert all(len(name.split("/")) == 2 and ".." not in name.split("/") for name in archive.namelist())
        archive.extractall(tmp_path / "folder")
    for source in (file, tmp_path / "folder"):
        read = {one.name: one.image for one in read_named(run, source)}
        assert {name: image.tobytes() for name, image in read.items()} == {
            name: image.tobytes() for name, image in zip(NAMES, images, strict=False)
        }


def test_what_cannot_be_read_in_a_zip_is_named_and_the_rest_is_kept(run, images, tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        png = io.BytesIO()
        Image.fromarray(images[0]).save(png, "PNG")
        archive.writestr("cat/good.png", png.getvalue())
        archive.writestr("cat/notes.txt", b"no picture")
        for hidden in ("__MACOSX/cat/._good.png", "cat/Thumbs.db", "cat/desktop.ini", ".git/a.png"):
            archive.writestr(hidden, b"")
    read = {one.path: one.refused for one in read_named(run, file)}
    assert read["cat/good.png"] == ""
    assert "none of them" in read["cat/notes.txt"]
    assert len(read) == 2
    (tmp_path / "cut.zip").write_bytes(cut := file.getvalue()[:-30])
    for source in (io.BytesIO(cut), tmp_path / "cut.zip"):
        with pytest.raises(UserError, match="Pack it again"):
            list(read_named(run, source))


def test_what_holds_no_picture_is_said_and_the_rest_is_kept(run, images, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04")
    Image.fromarray(images[0]).save(tmp_path / "good.png")
    (tmp_path / "folder" / ("a" * 61)).mkdir(parents=True)
    Image.fromarray(images[1]).save(tmp_path / "folder" / ("a" * 61) / "one.png")
    paths = [str(tmp_path / name) for name in ("empty", "cut.zip", "folder", "good.png")]
    with pytest.raises(SystemExit, match="1"):
        main(["gallery", run.id, "add", *paths, "--name", "good", "--runs", str(run.path.parent)])
    said = capsys.readouterr()
    assert said.out == "Kept 1 picture.\n"
    assert [line.partition(": ")[0] for line in said.err.splitlines()] == [*paths[:2], f"{'a' * 61}/one.png"]


def test_names_that_look_the_same_are_one(run, images):
    Gallery(run).add(images[:2], ["Ren\u00e9", "Rene\u0301 "])
    assert Gallery(run).names() == {"Ren\u00e9": 2}
    assert Gallery(run).remove(["Rene\u0301"]) == 2


def test_another_net_embeds_the_kept_pictures_anew(run, images):
    Gallery(run).add(images[:3], ["a", "b", "c"])
    before = Gallery(run).embed(Gallery(run).pictures())
    again = Runs(run.path.parent).begin_again(run.id, "lost")
    assert len(Gallery(again).pictures()) == 3
    config = CONFIG.replace(seed=5)
    other = Runs(run.path.parent).create(config)
    list(train_and_record(other))
    shutil.copy(other.path / "weights.safetensors", again.path)
    after = Gallery(again).embed(Gallery(again).pictures())
    np.testing.assert_allclose(after, embed(other, images[:3]), atol=1e-6)
    assert np.abs(after - before).max() > 0.01


def test_a_full_disk_keeps_nothing_and_says_so(run, images, monkeypatch):
    Gallery(run).add(images[:1], ["kept"])
    files = sorted(run.path.rglob("gallery/*.png"))
    write = gallery_module.atomic_write

    def full(path, size=0):
        if path.name == "index.json":
            raise disk_full(path.parent)
        return write(path, size)

    monkeypatch.setattr(gallery_module, "atomic_write", full)
    with pytest.raises(DiskFullError):
        Gallery(run).add(images[1:3], ["lost", "lost"])
    assert sorted(run.path.rglob("gallery/*.png")) == files
    assert len(Gallery(run).pictures()) == 1


def test_a_picture_is_removed_from_a_full_disk(run, images, monkeypatch):
    kept, _ = Gallery(run).add(images[:2], ["a", "b"])
    Gallery(run).embed(kept)
    write = gallery_module.atomic_write

    def full(path, size=0):
        if (path.parent / "embeddings.npz").exists():  # which takes what is left
            raise disk_full(path.parent)
        return write(path, size)

    monkeypatch.setattr(gallery_module, "atomic_write", full)
    assert Gallery(run).remove([kept[0].id]) == 1
    assert Gallery(run).names() == {"b": 1}


def test_a_folder_that_can_only_be_read_is_called_so(run, images, monkeypatch):
    def read_only(path, flags, *rest):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    Gallery(run).add(images[:1], ["kept"])
    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(
        UserError, match=r"gallery/lock of run \w+ cannot be written: its folder can only be read\. Allow"
    ):
        Gallery(run).add(images[1:2], ["lost"])


def test_two_people_at_once_keep_all(run, images):
    def keep(who):
        for image in images[10 * who : 10 * who + 8]:
            Gallery(run).add([image], ["x"], f"login:{who}")

    threads = [threading.Thread(target=keep, args=(who,)) for who in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(Gallery(run).pictures()) == 24
    assert len(Gallery(run).pictures(["", "login:1"])) == 8
    assert Gallery(run).remove(["x"], ["login:1"]) == 8
    assert {one.holder for one in Gallery(run).pictures()} == {"login:0", "login:2"}


def test_a_run_takes_its_own_gallery_along_and_nobody_elses(run, images, tmp_path):
    size = run_size(run.path)
    Gallery(run).add(images[:2], ["mine", "<i>"])
    assert run_size(run.path) > size
    Gallery(run).add(images[2:3], ["secret"], "login:ada")
    file = io.BytesIO()
    export_run(run, file)
    assert b"secret" not in zipfile.ZipFile(file).read("gallery/index.json")
    there = import_run(file, Runs(tmp_path / "there", bundled=tmp_path / "none"))
    assert [one.name for one in Gallery(there).pictures()] == ["mine", "<i>"]
    np.testing.assert_array_equal(Gallery(there).image(Gallery(there).pictures()[0].id), images[0])


@pytest.mark.parametrize(
    "index", ["{", "[1]", '[{"id": "0", "name": "x", "pixels": "0"}]', '[{"id": "ID", "name": "", "pixels": "ID"}]']
)
def test_a_damaged_gallery_is_named_and_the_run_stays(run, images, index):
    kept, _ = Gallery(run).add(images[:1], ["x"])
    (run.path / "gallery/index.json").write_text(index.replace("ID", kept[0].id))
    with pytest.raises(DamagedFileError):
        Gallery(run).pictures()
    assert "Unavailable or incomplete: gallery. Still available: scores, map" in damage_summary(run, run_damage(run))


def test_a_zip_with_a_foreign_picture_is_no_run(run, images, tmp_path):
    kept, _ = Gallery(run).add(images[:1], ["x"])
    Image.fromarray(np.zeros((9, 9), np.uint8)).save(run.path / f"gallery/{kept[0].id}.png")
    file = io.BytesIO()
    export_run(run, file)
    with pytest.raises(UserError, match="no picture of this gallery"):
        import_run(file, Runs(tmp_path / "there", bundled=tmp_path / "none"))


@pytest.mark.slow
def test_no_more_are_kept_than_there_may_be(run, images, monkeypatch):
    assert gallery_module.MAX_PICTURES == 10_000
    monkeypatch.setattr(gallery_module, "MAX_PICTURES", 30)
    Gallery(run).add(images[:30], ["name"] * 30)
    with pytest.raises(UserError, match="up to 30 pictures; these would make 31: remove some"):
        Gallery(run).add(images[:1], ["one more"])


@pytest.mark.parametrize(
    ("distance", "level", "name"),
    [(0.1, "sure", "x"), (0.3, "sure", None), (0.3, "unsure", "x"), (0.3, "unlike", "x"), (0.6, "unlike", None)],
)
def test_a_kept_picture_names_what_is_nearest_to_it(distance, level, name):
    assert name_of([GalleryNeighbor("0", "x", distance)], [0.2, 0.5], level) == name
    assert name_of([], [0.2, 0.5], level) is None


def test_hints_on_what_is_blurred_and_small():
    import cv2

    sheet = np.full((400, 400), 255, np.uint8)
    cv2.putText(sheet, "3", (120, 280), cv2.FONT_HERSHEY_SIMPLEX, 6, 0, 14)
    frame = Frame(0.46, 0.53, 0.3, 0.4)
    assert picture_hints(sheet, frame, 28) == []
    [blurred] = picture_hints(cv2.GaussianBlur(sheet, (0, 0), 14), frame, 28)
    assert blurred.startswith("Blurred")
    [small] = picture_hints(cv2.resize(sheet, (50, 50)), frame, 28)
    assert small == "Too small: 15 × 20 pixels; come nearer."


def test_a_picture_far_from_the_others_of_its_name_is_said(run, images):
    labels = load("digits").train.labels
    sevens, other = images[labels == 7], images[labels == 0][0]
    kept, _ = Gallery(run).add([*sevens[:3], other], ["lucky"] * 4)
    ids = [one.id for one in kept]
    assert not Gallery(run).far_from_others(ids, ["nobody"])
    [said] = Gallery(run).far_from_others(ids)
    assert said.startswith("Far from the others of “lucky”: the nearest is")
    odd, _ = Gallery(run).add([other], ["7"])
    assert Gallery(run).far_from_others([odd[0].id])  # the test images of class 7 are others of this name


@pytest.mark.slow
def test_a_change_of_the_gallery_places_what_is_new_alone_and_all_where_they_belong(run, images, monkeypatch):
    map = Runs(run.path.parent).create_projection(run, ProjectionConfig(method="tsne", params={"iterations": 20}))
    run_projection(map.path)
    asked = []
    place = questions.project_onto_maps
    monkeypatch.setattr(
        questions, "project_onto_maps", lambda *args: (asked.append((len(args[1]), args[2])), place(*args))[1]
    )
    kept, _ = Gallery(run).add(images[:5], ["x"] * 5)
    for change in (
        lambda: None,
        lambda: Gallery(run).remove([kept[1].id]),
        lambda: Gallery(run).add(images[5:7], ["y"] * 2),
    ):
        change()
        found = questions.gallery(None, str(run.path), None, [], True)["places"]
        whole = place(run, Gallery(run).embed(Gallery(run).pictures()))
        for view in ("live", map.id):
            np.testing.assert_allclose(found[view], whole[view], atol=1e-4)
    assert [count for count, views in asked if views == [map.id]] == [5, 2]


@pytest.mark.slow
def test_the_command_lists_adds_finds_exports_and_removes(run, images, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("DMLVIZ_RUNS", str(run.path.parent))
    file = tmp_path / "eight.png"
    picture = np.zeros((120, 120), np.uint8)
    picture[20:100, 50:70] = picture[50:70, 20:100] = 255
    Image.fromarray(picture).save(file)
    (tmp_path / "bad.png").write_bytes(b"none")

    def command(*words, code=0):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        assert ended.value.code == code
        return capsys.readouterr()

    assert "Nothing is kept" in command("gallery", run.id).out
    assert "--name" in command("gallery", run.id, "add", file, code=2).err
    said = command("gallery", run.id, "add", file, tmp_path / "bad.png", "--name", "[red]plus", code=1)
    assert "Kept 1 picture." in said.out
    assert "bad.png: A picture is a" in said.err
    assert "[red]plus" in command("gallery", run.id).out
    command("ask", run.id, file, "--json", tmp_path / "answers.json", "--far", "0.05")
    [answer] = json.loads((tmp_path / "answers.json").read_text())
    assert (answer["verdict"], answer["name"]) == ("known", "[red]plus")
    assert answer["distance"] == pytest.approx(0, abs=1e-5)
    assert answer["neighbors"][0]["class"] == "[red]plus"
    served = SearchService(run, None).answer(file.read_bytes(), 3)
    assert (served["name"], served["gallery"][0]["class"], served["notes"]) == ("[red]plus", "[red]plus", [])
    assert served["votes"] == SearchService(run, None).answer(file.read_bytes(), 1)["votes"] > 1, "as on the page"
    assert "1 picture" in command("gallery", run.id, "export", tmp_path / "mine.zip").out
    assert "Removed 1 picture." in command("gallery", run.id, "remove", "[red]plus").out
    assert "Kept 1 picture." in command("gallery", run.id, "add", tmp_path / "mine.zip").out
    assert "has no 'nobody'" in command("gallery", run.id, "remove", "nobody", "[red]plus", code=2).err
    assert Gallery(run).names() == {"[red]plus": 1}
