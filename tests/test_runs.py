import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from dmlviz.alarms import remedies
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data import watched_subset
from dmlviz.errors import UserError
from dmlviz.events import Failed, Finished, Snapshot, Started, Step, Stopped
from dmlviz.files import Log, atomic
from dmlviz.frames import Box, restore
from dmlviz.recording import Recorder, Writer, sentence, train_into
from dmlviz.runs import Run, Runs, UnknownRun

CONFIG = TrainConfig(dataset="digits", net="mlp", steps=4, watched=20)
N, D = 50, 16


def labels():
    return np.arange(N) % 10


def told(config=CONFIG, last=Finished, spread=1.0):
    """The events of a small training, as `train` gives them."""
    random, watched = np.random.default_rng(0), watched_subset(labels(), config.watched)
    d = config.embedding_dim if config.embedding_dim <= 2 else D
    embeddings = (random.normal(size=(N, d)) * spread + labels()[:, None]).astype(np.float32)
    yield Started(steps=4, watched=watched, train_images=100, test_images=N, device="cpu", threads=1)
    yield Snapshot(step=0, embeddings=embeddings[watched] * 0.1, metrics={"precision_at_1": 0.25})
    for step in range(1, 5):
        yield Step(
            step=step,
            loss=1 / step,
            active=0.5,
            positive_distance=0.1,
            negative_distance=0.9,
            images_per_second=1e3,
            cpu_seconds=0.1 * step,
        )
        yield Snapshot(step=step, embeddings=embeddings[watched] * step / 4, metrics={"precision_at_1": 0.5})
    yield last(
        step=4,
        embeddings=embeddings,
        metrics={"precision_at_1": 0.75},
        weights={"layer.weight": np.ones((2, 3), np.float32)},
        cpu_seconds=0.4,
        seconds=0.5,
        reason="asked to" if last is Stopped else "",
    )


def write(runs, config=CONFIG, events=None):
    run = runs.prepare(config)
    with Writer(run) as writer:
        recorder = Recorder(writer, run, labels())
        for event in told(config) if events is None else events:
            recorder.write(event)
    return runs.get(run.id)


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path / "runs", bundled=tmp_path / "bundled")


def test_a_finished_run_tells_everything_again(runs):
    run = write(runs)
    assert run.id == CONFIG.id
    assert run.config == CONFIG
    assert run.state == "finished"
    assert run.metrics == {"precision_at_1": 0.75}
    assert run.snapshot_steps == [0, 1, 2, 3, 4]
    assert run.title == "Digits 8 × 8, NT-Xent"
    *_, last = told()
    np.testing.assert_array_equal(run.embeddings, last.embeddings)
    np.testing.assert_array_equal(run.labels, labels())
    np.testing.assert_allclose(run.snapshot(4), last.embeddings[run.watched], rtol=1e-3)
    names = [event["event"] for event in run.events()]
    assert names == ["started", "snapshot", *["step", "snapshot"] * 4, "replay", "finished"]
    assert run.events(after=9) == run.events()[9:]
    assert run.info["device"] == "cpu"
    assert run.info["timings"]["seconds"] == 0.5


def test_the_replay_has_every_snapshot_once_and_ends_with_all_images(runs):
    run = write(runs)
    replay = next(event for event in run.events() if event["event"] == "replay")
    assert [(frame["step"], frame["items"], frame["n"]) for frame in replay["frames"]] == [
        *((step, "watched", 20) for step in range(4)),
        (4, "all", N),
    ]
    assert len({(tuple(frame["centre"]), frame["scale"]) for frame in replay["frames"]}) == 1
    assert replay["view"] == "fan"
    assert len(replay["explained"]) == 2
    np.testing.assert_allclose(run.basis.explained, replay["explained"])


def test_the_picture_of_a_plane_is_the_plane(runs):
    run = write(runs, CONFIG.but(embedding_dim=2, normalize=False))
    assert {event["view"] for event in run.events() if "view" in event} == {"plane"}
    np.testing.assert_allclose(run.basis.project(run.embeddings), run.embeddings, rtol=1e-6)


def test_what_an_event_speaks_of_is_on_disk_before_it(runs):
    run = runs.prepare(CONFIG)
    with Writer(run) as writer:
        recorder = Recorder(writer, run, labels())
        for event in told():
            recorder.write(event)
            for written in run.events():
                frames = written.get("frames", [written["frame"]] if "frame" in written else [])
                assert all(len(run.frame(frame["id"])) == frame["n"] * 2 * 2 for frame in frames)


def test_a_run_cut_off_at_any_byte_of_its_log_is_readable_up_to_its_last_event(runs):
    run = write(runs)
    whole = run.log.path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    for cut in [*range(0, len(whole), 7), *(end - 1 for end in ends), *ends]:
        run.log.path.write_bytes(whole[:cut])
        events = run.events()
        assert events == [json.loads(line) for line in whole[:cut].split(b"\n")[:-1]]
        assert run.state == ("finished" if cut == len(whole) else "cut off")
        assert len(run.follow().new()) == len(events)


def test_an_event_after_a_torn_line_stands_on_a_line_of_its_own(tmp_path):
    log = Log(tmp_path / "events.jsonl")
    log.append({"event": "a"})
    with open(log.path, "ab") as file:
        file.write(b'{"event":"to')
    assert [event["event"] for event in log.events()] == ["a"]
    log.append({"event": "b"})
    assert [event["event"] for event in log.events()] == ["a", "b"]
    log.path.write_bytes(b'{"ev')
    log.append({"event": "c"})
    assert log.events() == [{"event": "c"}]


def test_the_end_is_found_behind_a_very_long_line(tmp_path):
    log = Log(tmp_path / "events.jsonl")
    log.append({"event": "replay", "frames": ["x" * 100] * 1000})
    assert log.last() is None
    log.append({"event": "finished"})
    assert log.last() == {"event": "finished"}


def test_nothing_on_disk_is_a_pickle(runs):
    run = write(runs)
    arrays = [*run.path.rglob("*.npy"), *run.path.rglob("*.npz")]
    assert len(arrays) == 9
    for path in arrays:
        np.load(path, allow_pickle=False)
    assert not [path for path in run.path.rglob("*") if path.suffix in (".pkl", ".pt", ".tmp")]


def test_a_file_that_is_not_finished_does_not_appear(tmp_path):
    (tmp_path / "run.json").write_text("old")

    def break_off():
        with atomic(tmp_path / "run.json") as file:
            file.write(b"ne")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    assert (tmp_path / "run.json").read_text() == "old"


def test_a_run_that_diverges_is_json_and_has_frames(runs):
    events = list(told(spread=np.inf))
    events[2] = Step(**vars(events[2]) | {"loss": float("nan")})
    run = write(runs, events=events)
    assert run.state == "finished"
    assert next(event for event in run.events() if event["event"] == "step")["loss"] is None
    assert run.end["usual_distance"] is None
    assert len([event for event in run.events() if event["event"] == "snapshot"]) == 5


def test_a_run_is_running_while_its_process_lives_and_cut_off_after(runs):
    run = runs.prepare(CONFIG)
    assert run.state == "cut off"
    script = (
        "import sys, time; from dmlviz.runs import Run; from dmlviz.recording import Writer\n"
        "with Writer(Run(sys.argv[1])) as writer:\n"
        "    writer.event('started'); print('on', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(run.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"on\n"
        assert run.state == "running"
        with pytest.raises(UserError, match="another process"), Writer(run):
            pass
        with pytest.raises(UserError, match="still training"):
            runs.delete(run.id)
        process.send_signal(signal.SIGKILL)
    assert run.state == "cut off"
    assert [event["event"] for event in run.events()] == ["started"]


def test_many_who_ask_at_once_do_not_see_each_other_as_the_writer(runs):
    run, seen = write(runs, events=list(told())[:3]), set()

    def ask():
        for _ in range(200):
            seen.add(run.state)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"cut off"}


@pytest.mark.parametrize(
    "name", ["../runs", "..", "", "/etc", "0" * 15, "0" * 17, "ABCDEF0123456789", "0" * 15 + "/", "0" * 16 + "\n", None]
)
def test_an_id_cannot_lead_out_of_the_folder(runs, name):
    run = write(runs)
    with pytest.raises(UnknownRun):
        runs.get(name)
    with pytest.raises(UnknownRun):
        run.frame(name)
    with pytest.raises(UnknownRun):
        run.drawing(name)


def test_what_is_not_there_is_said(runs):
    with pytest.raises(UnknownRun, match="There is no run '0123456789abcdef'"):
        runs.get("0123456789abcdef")
    assert runs.list() == []
    run = runs.prepare(CONFIG)
    with pytest.raises(UnknownRun, match="no frame"):
        run.frame("0" * 16)
    with pytest.raises(UnknownRun, match="no snapshot at step 3"):
        run.snapshot(3)
    assert (run.embeddings, run.labels, run.watched, run.basis, run.metrics) == (None, None, None, None, {})
    assert run.snapshot_steps == []


def test_the_same_request_again_begins_with_a_clean_folder(runs):
    first = write(runs, events=[*list(told())[:5], Failed(step=2, reason="no more")])
    assert first.state == "failed"
    kept = next(event["frame"] for event in first.events() if event.get("frame"))
    follower = first.follow(after=3)
    assert [number for number, _ in follower.new()] == [3, 4, 5, 6]  # the failure, and the alarm before it
    again = runs.prepare(CONFIG)
    assert again.path == first.path
    assert again.events() == []
    assert again.snapshot_steps == []
    assert len(again.frame(kept["id"])) == kept["n"] * 4, "a page that still shows the old run asks for its frames"
    assert follower.new() == []
    again.log.append({"event": "started"})
    assert [(number, json.loads(line)) for number, line in follower.new()] == [(0, {"event": "started"})]
    assert [path.name for path in runs.folder.iterdir()] == [CONFIG.id]


def test_a_follower_gives_each_whole_line_once(runs):
    run = runs.prepare(CONFIG)
    follower = run.follow()
    assert follower.new() == []
    run.log.append({"event": "a"})
    run.log.append({"event": "b"})
    assert [number for number, _ in follower.new()] == [0, 1]
    with open(run.log.path, "ab") as file:
        file.write(b'{"event":')
    assert follower.new() == []
    with open(run.log.path, "ab") as file:
        file.write(b'"c"}\n')
    assert follower.new() == [(2, '{"event":"c"}')]
    assert follower.new() == []


def test_a_long_training_keeps_a_short_curve_of_means(runs):
    config = CONFIG.but(steps=10_000)
    started, *_ = told(config)
    steps = [
        Step(step=i, loss=i, active=1, positive_distance=0, negative_distance=1, images_per_second=1, cpu_seconds=i)
        for i in range(1, 10_001)
    ]
    curve = [event for event in write(runs, config, [started, *steps]).events() if event["event"] == "step"]
    assert len(curve) < 1600
    assert curve[-1]["step"] == 10_000
    assert curve[0]["loss"] == pytest.approx(np.mean(range(1, curve[0]["step"] + 1)))


def test_neighbours_leave_the_item_out_and_name_classes(runs):
    run = write(runs)
    embeddings = np.asarray(run.embeddings, np.float64)
    far = np.linalg.norm(embeddings - embeddings[7], axis=1)
    far[7] = np.inf
    expected = np.argsort(far)[:5]
    found = run.neighbours(7, 5)
    assert [neighbour.item for neighbour in found] == expected.tolist()
    assert [neighbour.label for neighbour in found] == labels()[expected].tolist()
    np.testing.assert_allclose([neighbour.distance for neighbour in found], far[expected], rtol=1e-4)
    json.dumps([neighbour._asdict() for neighbour in found])


def test_neighbours_at_a_step_are_among_the_watched(runs):
    run = write(runs)
    watched = run.watched
    item = int(watched[3])
    embeddings = run.snapshot(2).astype(np.float64)
    far = np.linalg.norm(embeddings - embeddings[3], axis=1)
    far[3] = np.inf
    assert [neighbour.item for neighbour in run.neighbours(item, 4, step=2)] == watched[np.argsort(far)[:4]].tolist()
    stranger = next(i for i in range(N) if i not in watched)
    with pytest.raises(UserError, match=f"Image {stranger} is not among the 20"):
        run.neighbours(stranger, 4, step=2)
    for nonsense in (-1, N, 10**9):
        with pytest.raises(UserError, match="is not among"):
            run.neighbours(nonsense, 4)


def test_neighbours_while_training_come_from_the_newest_snapshot(runs):
    run = write(runs, events=list(told())[:-1])
    item = int(run.watched[0])
    assert run.neighbours(item, 3) == run.neighbours(item, 3, step=4)


def test_the_gallery_of_a_run_that_was_trained_again_is_not_the_old_one(runs):
    run = write(runs)
    before = run.neighbours(7, 5)
    again = write(runs, events=list(told(spread=5.0)))
    assert again.neighbours(7, 5) != before


def test_a_point_of_the_space_has_neighbours(runs):
    run = write(runs)
    assert run.nearest(run.embeddings[7], 1)[0].item == 7
    assert run.nearest(run.embeddings[7], 1)[0].distance == pytest.approx(0, abs=1e-3)


def test_the_usual_distance_is_passed_by_one_image_in_a_hundred(runs):
    run = write(runs)
    near = [run.neighbours(item, 1)[0].distance for item in range(N)]
    assert run.end["usual_distance"] == pytest.approx(np.percentile(near, 99), rel=1e-4)


def test_a_stopped_run_says_why_and_has_its_embeddings(runs):
    run = write(runs, events=list(told(last=Stopped)))
    assert run.state == "stopped"
    assert run.end["reason"] == "asked to"
    assert run.embeddings.shape == (N, D)


@pytest.fixture
def bundled(runs):
    """A ready-made run, and `runs` without any of its own."""
    run = write(Runs(runs.bundled, bundled=runs.folder), CONFIG.but(seed=7))
    return runs.get(run.id)


def test_runs_that_come_with_the_program_are_listed_last_and_only_read(runs, bundled):
    own = write(runs)
    assert [run.id for run in runs.list()] == [own.id, bundled.id]
    assert runs.comes_with_the_program(bundled)
    assert not runs.comes_with_the_program(own)
    for change in (lambda: runs.delete(bundled.id), lambda: runs.rename(bundled.id, "mine")):
        with pytest.raises(UserError, match="comes with the program"):
            change()
    assert bundled.path.exists()


def test_a_projection_of_a_ready_made_run_goes_to_a_copy(runs, bundled):
    config = ProjectionConfig(method="tsne")
    drawing = runs.prepare_drawing(bundled, config)
    assert drawing.config == config
    assert drawing.path.is_relative_to(runs.folder)
    assert not (bundled.path / "projections").exists()
    copy = runs.get(bundled.id)
    assert not runs.comes_with_the_program(copy)
    assert [one.id for one in copy.drawings()] == [config.id]
    assert copy.drawing(config.id).state == "cut off"
    np.testing.assert_array_equal(copy.embeddings, bundled.embeddings)
    assert [run.id for run in runs.list()] == [bundled.id]


def test_a_run_can_be_renamed_and_deleted(runs):
    run = write(runs)
    runs.rename(run.id, "  My \n first  ")
    assert runs.get(run.id).title == "My first"
    assert runs.get(run.id).config == CONFIG
    with pytest.raises(UserError, match="needs a title"):
        runs.rename(run.id, "  ")
    runs.delete(run.id)
    assert runs.list() == []
    assert list(runs.folder.glob("[!.]*")) == []


def test_a_new_title_survives_the_end_of_the_training(runs):
    run = runs.prepare(CONFIG)
    with Writer(run) as writer:
        recorder = Recorder(writer, run, labels())
        for event in told():
            if isinstance(event, Finished):
                runs.rename(run.id, "Renamed")
            recorder.write(event)
    assert runs.get(run.id).title == "Renamed"


def test_folders_that_hold_no_run_are_passed_over(runs):
    run = write(runs)
    for name, text in [("0" * 16, "{"), ("1" * 16, '{"config":{"loss":"gone"}}'), ("notes", "{}"), ("2" * 16, "[]")]:
        (runs.folder / name).mkdir()
        (runs.folder / name / "run.json").write_text(text)
    assert [one.id for one in runs.list()] == [run.id]
    with pytest.raises(UnknownRun, match=r"no readable run.json"):
        runs.get("0" * 16)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UserError, match="cannot be made"):
        Runs(tmp_path / "runs").prepare(CONFIG)


def test_a_file_in_the_way_of_the_folder_is_said(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(UserError, match="cannot be made"):
        Runs(tmp_path / "runs").prepare(CONFIG)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UserError("Do it so."), "Do it so."),
        (MemoryError(), "There was not enough memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), "not enough memory"),
        (OSError(28, "No space left on device", "/runs/x"), "/runs/x could not be written or read: No space left"),
        (ZeroDivisionError("division by zero"), "inside the program (ZeroDivisionError: division by zero)"),
    ],
)
def test_what_went_wrong_is_a_sentence(error, said):
    assert said in sentence(error)
    assert "\n" not in sentence(error)


@pytest.mark.parametrize("fails", [False, True])
def test_the_ready_made_runs_play_without_anything_else(tmp_path, fails):
    runs = [run for run in Runs(tmp_path).list() if bool(run.info.get("fails")) is fails]
    assert len(runs) == (2 if fails else 1)
    for run in runs:
        assert run.state == "finished"
        assert run.id == run.config.id, "the config has changed: make the ready-made runs again"
        assert run.config.dataset == "digits"  # the one that needs no download
        replay = next(event for event in run.events() if event["event"] == "replay")
        assert len(replay["frames"]) >= (15 if fails else 30)
        assert all(len(run.frame(frame["id"])) == frame["n"] * 4 for frame in replay["frames"])
        assert len(run.neighbours(0, 10)) == 10
        size = sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file())
        assert size < (500_000 if fails else 2_400_000)
        if not fails:
            assert len(run.kept_steps) == 6  # nets by which a picture's way is drawn
            assert run.basis.view == replay["view"] == "plane"
            assert run.metrics["precision_at_1"] > 0.9


def test_the_runs_that_fail_on_purpose_do_so_by_name_and_offer_a_way_out(tmp_path):
    failing = [run for run in Runs(tmp_path).list() if run.info.get("fails")]
    for run in failing:
        assert run.title.startswith("Fails: ")
        alarms = [event for event in run.events() if event["event"] == "alarm"]
        assert [event["alarm"] for event in alarms] == ["collapsed"]
        assert alarms[0]["remedies"] == [remedy.words for remedy in remedies("collapsed", run.config)]
        assert not [event for event in run.events() if event["event"] == "alarm_over"]


def test_an_alarm_stands_in_the_log_before_the_end_it_belongs_to(runs):
    def events():
        *before, end = told()
        yield from before[:1]
        yield replace(before[1], metrics={"mean_negative_distance": 1.0})
        yield from (event for event in before[2:] if isinstance(event, Step))
        yield replace(end, metrics={"mean_negative_distance": 0.01})

    log = [(event["event"], event.get("alarm")) for event in write(runs, events=events()).events()]
    assert log[-1] == ("finished", None)
    assert ("alarm", "collapsed") in log[:-1]


def test_nets_are_kept_on_the_way_where_there_are_any_and_nobody_objects(runs):
    weights = {"layer.weight": np.full((2, 3), 0.5, np.float32), "large": np.array([1e6], np.float32)}

    def events():
        for event in told():
            yield replace(event, weights=weights) if isinstance(event, Snapshot) and event.step < 3 else event

    run = write(runs, events=events())
    assert run.kept_steps == [0, 1, 2]
    from safetensors.numpy import load_file

    kept = load_file(run.path / "nets" / "1.safetensors")
    assert kept["layer.weight"].dtype == np.float16
    assert kept["large"].dtype == np.float32  # too large for half precision
    assert write(runs, CONFIG.but(seed=9)).kept_steps == []


def test_reading_runs_and_queueing_jobs_needs_no_torch():
    script = "import sys, dmlviz, dmlviz.runs, dmlviz.jobs, dmlviz.recording, dmlviz.worker; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "dmlviz.jobs" in loaded
    assert not {"torch", "sklearn", "umap", "faiss"} & set(loaded)


def test_a_path_is_enough_to_read_a_run(runs):
    run = write(runs)
    assert Run(str(run.path)).state == "finished"


def test_a_space_of_three_dimensions_is_kept_and_drawn_as_it_is_with_its_class_centres(runs):
    config = TrainConfig(dataset="digits", net="mlp", loss="arcface", embedding_dim=3, steps=4, snapshots=2, watched=50)
    run = runs.prepare(config)
    for _ in train_into(run):
        pass
    events = {event["event"]: event for event in run.events()}
    assert events["started"]["view"] == "plane"
    assert events["snapshot"]["frame"]["dims"] == events["started"]["dims"] == 3
    last = events["replay"]["frames"][-1]
    np.testing.assert_allclose(np.linalg.norm(last["centres"], axis=1), 1, atol=1e-3)
    assert events["replay"]["faithfulness"]["neighbours_kept"] == 1
    positions = restore(run.frame(last["id"]), 3, Box(tuple(last["centre"]), last["scale"]))
    np.testing.assert_allclose(positions, run.embeddings, atol=1e-3)
