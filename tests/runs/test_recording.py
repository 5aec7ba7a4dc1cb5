"""What a training writes into its folder."""

import json
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError
from dmlviz.metrics import evaluate
from dmlviz.runs.damage import check
from dmlviz.runs.frames import Box, dequantize
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.record_writer import RecordWriter, error_message
from dmlviz.runs.run_recorder import RunRecorder
from dmlviz.runs.training_run import train_and_record
from dmlviz.training.events import Finished, Snapshot, Step, Stopped


def test_a_finished_run_tells_everything_again(runs, small, told, write, labels):
    run = write(runs)
    assert run.id == small.id
    assert run.config == small
    assert run.state == "finished"
    assert run.metrics == {"precision_at_1": 0.75}
    assert run.snapshot_steps == [0, 1, 2, 3, 4]
    assert run.title == "Digits 8 × 8, NT-Xent"
    *_, last = told()
    np.testing.assert_array_equal(run.embeddings, last.embeddings)
    np.testing.assert_array_equal(run.labels, labels)
    np.testing.assert_allclose(run.snapshot(4), last.embeddings[run.tracked_indices], rtol=1e-3)
    assert run.events() == [json.loads(line) for line in run.log.lines()], "declare a new field in run_schema"
    names = [event["event"] for event in run.events()]
    assert names == ["started", "snapshot", *["step", "snapshot"] * 4, "replay", "finished"]
    assert run.events(after=9) == run.events()[9:]
    assert run.info["device"] == "cpu"
    assert run.info["timings"]["seconds"] == 0.5


def test_the_replay_has_every_snapshot_once_and_ends_with_all_images(runs, write, labels):
    run = write(runs)
    replay = next(event for event in run.events() if event["event"] == "replay")
    assert [(frame["step"], frame["items"], frame["n"]) for frame in replay["frames"]] == [
        *((step, "tracked", 20) for step in range(4)),
        (4, "all", len(labels)),
    ]
    assert len({(tuple(frame["center"]), frame["scale"]) for frame in replay["frames"]}) == 1
    assert replay["view"] == "fan"
    assert len(replay["explained"]) == 2
    np.testing.assert_allclose(run.linear_projection.explained_variance_ratio, replay["explained"])


def test_the_picture_of_a_plane_is_the_plane(runs, small, write):
    run = write(runs, small.replace(embedding_dim=2, normalize=False))
    assert {event["view"] for event in run.events() if "view" in event} == {"plane"}
    np.testing.assert_allclose(run.linear_projection.project(run.embeddings), run.embeddings, rtol=1e-6)


def test_what_an_event_speaks_of_is_on_disk_before_it(runs, small, told, labels):
    run = runs.create(small)
    with RecordWriter(run) as writer:
        recorder = RunRecorder(writer, run, labels)
        for event in told():
            recorder.write(event)
            for written in run.events():
                frames = written.get("frames", [written["frame"]] if "frame" in written else [])
                assert all(len(run.frame(frame["id"])) == frame["n"] * 2 * 2 for frame in frames)


def test_nothing_on_disk_is_a_pickle(runs, write):
    run = write(runs)
    arrays = [*run.path.rglob("*.npy"), *run.path.rglob("*.npz")]
    assert len(arrays) == 9
    for path in arrays:
        np.load(path, allow_pickle=False)
    assert not [path for path in run.path.rglob("*") if path.suffix in (".pkl", ".pt", ".tmp")]


def test_a_run_that_diverges_is_json_and_has_frames(runs, told, write):
    events = list(told(spread=np.inf))
    events[2] = Step(**vars(events[2]) | {"loss": float("nan")})
    run = write(runs, events=events)
    assert run.state == "finished"
    assert next(event for event in run.events() if event["event"] == "step")["loss"] is None
    assert run.end["usual_distance"] is None
    assert len([event for event in run.events() if event["event"] == "snapshot"]) == 5


def test_a_long_training_keeps_a_short_curve_of_means(runs, small, told, write):
    config = small.replace(steps=10_000)
    started, *_ = told(config)
    steps = [
        Step(step=i, loss=i, active=1, positive_distance=0, negative_distance=1, images_per_second=1, cpu_seconds=i)
        for i in range(1, 10_001)
    ]
    curve = [event for event in write(runs, config, [started, *steps]).events() if event["event"] == "step"]
    assert len(curve) < 1600
    assert curve[-1]["step"] == 10_000
    assert curve[0]["loss"] == pytest.approx(np.mean(range(1, curve[0]["step"] + 1)))


def test_the_usual_distance_is_passed_by_one_image_in_a_hundred(runs, write, labels):
    run = write(runs)
    near = [run.neighbors(item, 1)[0].distance for item in range(len(labels))]
    assert run.end["usual_distance"] == pytest.approx(np.percentile(near, 99), rel=1e-4)


def test_a_stopped_run_says_why_and_has_its_embeddings(runs, told, write, labels):
    run = write(runs, events=list(told(last=Stopped)))
    assert run.state == "stopped"
    assert run.end["reason"] == "asked to"
    assert run.embeddings.shape == (len(labels), 16)


def test_a_stop_after_all_scores_waits_for_no_measure_of_the_map(runs):
    run = runs.create(TrainConfig(dataset="digits", net="mlp", steps=2, num_snapshots=1, eval_subset_size=50))
    list(train_and_record(run, stop=(run.path / "metrics.json").exists))
    assert run.state == "finished"
    assert "map" in run.end["metrics"]
    assert run.end["faithfulness"] is None


def test_a_new_title_survives_the_end_of_the_training(runs, small, told, labels):
    run = runs.create(small)
    with RecordWriter(run) as writer:
        recorder = RunRecorder(writer, run, labels)
        for event in told():
            if isinstance(event, Finished):
                runs.rename(run.id, "Renamed")
            recorder.write(event)
    assert runs.get(run.id).title == "Renamed"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UserError("Do it so."), "Do it so."),
        (MemoryError(), "Out of memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), "Out of memory"),
        (OSError(28, "No space left on device", "/runs/x"), "The disk is full ("),
        (OSError(13, "Permission denied", "/runs/x"), "Cannot read or write /runs/x: Permission denied"),
        (ZeroDivisionError("division by zero"), "Internal error (ZeroDivisionError: division by zero)"),
    ],
)
def test_what_went_wrong_is_a_sentence(error, said):
    assert said in error_message(error)
    assert "\n" not in error_message(error)


def test_an_alarm_stands_in_the_log_before_the_end_it_belongs_to(runs, told, write):
    def events():
        *before, end = told()
        yield from before[:1]
        yield replace(before[1], metrics={"mean_negative_distance": 1.0})
        yield from (event for event in before[2:] if isinstance(event, Step))
        yield replace(end, metrics={"mean_negative_distance": 0.01})

    log = [(event["event"], event.get("alarm")) for event in write(runs, events=events()).events()]
    assert log[-1] == ("finished", None)
    assert ("alarm", "collapsed") in log[:-1]


def test_nets_are_kept_on_the_way_where_there_are_any_and_nobody_objects(runs, small, told, write):
    weights = {"layer.weight": np.full((2, 3), 0.5, np.float32), "large": np.array([1e6], np.float32)}

    def events():
        for event in told():
            yield replace(event, net_weights=weights) if isinstance(event, Snapshot) and event.step < 3 else event

    run = write(runs, events=events())
    assert run.checkpoint_steps == [0, 1, 2]
    from safetensors.numpy import load_file

    kept = load_file(run.path / "nets" / "1.safetensors")
    assert kept["layer.weight"].dtype == np.float16
    assert kept["large"].dtype == np.float32  # too large for half precision
    assert write(runs, small.replace(seed=9)).checkpoint_steps == []


def test_a_space_of_three_dimensions_is_kept_and_drawn_as_it_is_with_its_class_centers(runs):
    config = TrainConfig(
        dataset="digits", net="mlp", loss="arcface", embedding_dim=3, steps=4, num_snapshots=2, eval_subset_size=50
    )
    run = runs.create(config)
    list(train_and_record(run))
    events = {event["event"]: event for event in run.events()}
    assert events["started"]["view"] == "plane"
    assert events["snapshot"]["frame"]["dims"] == events["started"]["dims"] == 3
    last = events["replay"]["frames"][-1]
    np.testing.assert_allclose(np.linalg.norm(last["centers"], axis=1), 1, atol=1e-3)
    assert events["finished"]["faithfulness"]["neighbors_kept"] == 1
    positions = dequantize(run.frame(last["id"]), 3, Box(tuple(last["center"]), last["scale"]))
    np.testing.assert_allclose(positions, run.embeddings, atol=1e-3)


@pytest.mark.parametrize("normalize", [False, True])
def test_scores_of_a_kept_snapshot_are_those_that_were_shown(runs, normalize):
    config = TrainConfig(
        dataset="digits",
        net="mlp",
        embedding_dim=16,
        normalize=normalize,
        steps=6,
        num_snapshots=3,
        validation_fraction=0,
    )
    run = runs.create(config)
    shown = [event for event in train_and_record(run) if isinstance(event, Snapshot)]
    assert len(shown) > 2
    labels = run.labels[run.tracked_indices]
    for event in shown:
        np.testing.assert_array_equal(run.snapshot(event.step), event.embeddings)
        again = evaluate(run.snapshot(event.step), labels, clustering=False, full_ranking=False, verification=False)
        assert {key: again[key] for key in event.metrics} == event.metrics
    at = {event["step"]: event["metrics"] for event in run.events() if event["event"] == "snapshot"}
    assert at == {event.step: event.metrics for event in shown}


@pytest.mark.parametrize("fraction", [0.1, 0])
def test_every_score_says_which_images_it_is_of(runs, fraction):
    config = TrainConfig(
        dataset="digits",
        net="mlp",
        embedding_dim=4,
        steps=4,
        num_snapshots=2,
        eval_subset_size=100,
        validation_fraction=fraction,
    )
    run = runs.create(config)
    *_, end = train_and_record(run)
    started, snapshot, finished = (
        next(event for event in run.events() if event["event"] == name) for name in ("started", "snapshot", "finished")
    )
    validation = 120 if fraction else 0
    assert (started["validation_images"], started["train_images"]) == (validation, 1201 - validation)
    assert started["scored_images"] == 100
    assert snapshot["scored_on"] == ("validation" if fraction else "test")
    assert finished["metrics"] == run.metrics == end.metrics
    assert finished["validation_metrics"] == run.validation_metrics == end.validation_metrics
    assert bool(run.validation_metrics) == bool(validation)
    scored = run.scored_indices
    assert (None if scored is None else len(scored)) == (100 if fraction else None)
    assert [*check(run)] == []
    if fraction:
        (run.path / "scored.npy").unlink()
        (damage,) = check(run)
        assert damage.file == "scored.npy"


CONFIGS = [
    ProjectionConfig(method="tsne", params={"perplexity": 5, "iterations": 100}),
    ProjectionConfig(method="umap", params={"neighbors": 5, "iterations": 40}),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.method)
def test_a_projection_that_was_stopped_ends_as_one_that_never_was(runs, write, config):
    run = write(runs)
    whole = runs.create_projection(run, config)
    run_projection(whole.path)
    coordinates = run.projection(config.id).coordinates
    again = runs.create_projection(run, config)
    polled = count()
    run_projection(again.path, stop=lambda: next(polled) > 20)
    stopped = run.projection(config.id)
    assert stopped.coordinates is None
    iteration, positions, _ = stopped.resume_state
    assert 0 < iteration < config.params["iterations"]
    assert not (positions == coordinates).all()
    run_projection(again.path)
    np.testing.assert_array_equal(run.projection(config.id).coordinates, coordinates)
    assert run.projection(config.id).resume_state is None
    assert not list(again.path.glob("stopped*"))
