"""Jobs on a finished run: embedding query images, projections."""

import json

import numpy as np
import pytest
from dmlviz_app.answers.point_values import point_value_bytes

from dmlviz.config import ProjectionConfig
from dmlviz.config.projection import pack_items
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.export.page_contents import page_contents
from dmlviz.jobs.order import projection, training
from dmlviz.jobs.pool import embed_images
from dmlviz.jobs.scheduler import JobScheduler
from dmlviz.projection import project
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.store import Runs


def draw(jobs, run, config, **options):
    return jobs.submit(projection(jobs.runs, run.id, config, **options))


def embed(jobs, run, images, **options):
    return embed_images(jobs.inference_worker, run, images, **options)


def test_a_query_is_placed_where_the_net_embeds_it(jobs, finished):
    images = load("digits").test.images[:3]
    answer = embed(jobs, finished, images)
    np.testing.assert_allclose(answer["embeddings"], finished.embeddings[:3], atol=1e-5)
    np.testing.assert_allclose(
        answer["places"]["live"], finished.linear_projection.project(np.asarray(answer["embeddings"])), atol=1e-5
    )
    json.dumps(answer)
    assert finished.neighbors_of_point(np.asarray(answer["embeddings"][0]), 1)[0].item == 0


def test_images_of_another_shape_are_refused_with_one_sentence(jobs, finished, long):
    with pytest.raises(UserError, match="28 × 28"):
        embed(jobs, finished, np.zeros((1, 28, 28), np.uint8))
    _, waiting = (jobs.submit(training(jobs.runs, long.replace(seed=seed))) for seed in (40, 41))  # there is one slot
    with pytest.raises(UserError, match=r"has not begun|training has finished"):
        embed(jobs, waiting, np.zeros((1, 8, 8), np.uint8))
    assert len(embed(jobs, finished, np.zeros((2, 8, 8), np.uint8))["embeddings"]) == 2  # it goes on answering


def test_a_projection_runs_as_a_job(jobs, finished, until):
    config = ProjectionConfig(method="pca")
    record = draw(jobs, finished, config)
    until(lambda: jobs.status(record).phase == "finished")
    assert record.coordinates.shape == (len(finished.labels), 2)
    end = record.end
    assert len(record.frame(end["frame"]["id"])) == len(finished.labels) * 2 * 2
    assert draw(jobs, finished, config).id == record.id
    assert jobs.running_for() == []
    assert record.quality["trustworthiness"].shape == (len(finished.labels),)
    assert 0 < end["faithfulness"]["trustworthiness"] <= 1
    answer = embed(jobs, finished, load("digits").test.images[:2])
    np.testing.assert_allclose(answer["places"][record.id], record.coordinates[:2], atol=1e-3)
    assert list(embed(jobs, finished, load("digits").test.images[:2], views=[])["places"]) == ["live"]


def test_a_subset_is_projected_and_measured_alone(jobs, finished, until):
    items = np.arange(3, 300, 2)
    config = ProjectionConfig(method="tsne", params={"iterations": 250}, subset=pack_items(items))
    record = draw(jobs, finished, config)
    until(lambda: jobs.status(record).phase == "finished")
    alone = project(finished.embeddings[items], config)
    np.testing.assert_array_equal(record.coordinates, alone.coordinates)
    assert record.end["faithfulness"]["measured"] == len(items)
    assert record.end["frame"]["items"] == "tracked"  # the map asks which
    values = np.frombuffer(point_value_bytes(finished, record, "faithfulness"), "<f4")
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(values)), items)
    export = RunExport(finished, record)
    np.testing.assert_array_equal(export.items, items)
    np.testing.assert_array_equal(export.labels, finished.labels[items])
    assert page_contents(export)["tracked"] == items.tolist()
    images = load("digits").test.images[items[:2]]
    places = embed(jobs, finished, images, views=[record.id])["places"][record.id]
    np.testing.assert_allclose(places, record.coordinates[:2], atol=1)


def test_a_subset_of_another_step_holds_the_tracked_images_only(jobs, finished, until):
    tracked = finished.tracked_indices
    step = finished.embedded_steps[0]
    subset = pack_items(np.arange(tracked[10] + 1))
    record = draw(jobs, finished, ProjectionConfig(method="pca", step=step, subset=subset))
    until(lambda: jobs.status(record).phase == "finished")
    assert record.coordinates.shape == (11, 2)
    missing = np.setdiff1d(np.arange(len(finished.labels)), tracked)
    if len(missing):
        with pytest.raises(UserError, match="None of the selected images"):
            draw(jobs, finished, ProjectionConfig(method="pca", step=step, subset=pack_items(missing[:5])))


def test_a_subset_too_small_for_a_method_is_refused_with_one_sentence(jobs, finished):
    with pytest.raises(UserError, match="at least 2 points; got 1"):
        draw(jobs, finished, ProjectionConfig(method="pca", subset=pack_items(np.array([7]))))
    with pytest.raises(UserError, match="names at least one item"):
        ProjectionConfig(subset="no word")
    with pytest.raises(UserError, match="None of the selected images"):
        draw(jobs, finished, ProjectionConfig(method="pca", subset=pack_items(np.array([99_999]))))


def test_equal_subsets_are_one_projection_and_no_subset_keeps_the_old_id():
    word = pack_items(np.array([5, 8]))
    assert ProjectionConfig(subset=word + "=").id == ProjectionConfig(subset=word).id
    assert "subset" not in ProjectionConfig().to_json()
    assert ProjectionConfig.from_json(ProjectionConfig(subset=word).to_json()).items.tolist() == [5, 8]


def test_a_projection_of_an_unfinished_run_is_refused(jobs, long):
    run = jobs.submit(training(jobs.runs, long.replace(seed=50)))
    with pytest.raises(UserError, match="no embeddings of all test images"):
        draw(jobs, run, ProjectionConfig(method="pca"))
    with pytest.raises(UserError, match="no run"):
        projection(jobs.runs, "0" * 16, ProjectionConfig(method="pca"))


def test_an_invalid_projection_is_refused_before_it_is_queued(jobs, finished):
    with pytest.raises(UserError, match="at most 2 dimensions"):
        draw(jobs, finished, ProjectionConfig(method="plane"))
    assert jobs.running_for() == []


def test_a_projection_can_be_stopped(jobs, finished, until):
    record = draw(jobs, finished, ProjectionConfig(method="tsne", params={"iterations": 5000}))
    until(lambda: any(event["event"] == "frame" for event in record.events()))
    jobs.stop(record)
    until(lambda: jobs.status(record).phase == "stopped")
    assert jobs.status(finished).phase == "finished"


def test_a_reference_projection_shows_its_phase_stops_at_once_and_restarts(jobs, finished, until):
    params = {"iterations": 5000, "method": "exact"}
    config = ProjectionConfig(method="tsne", engine="reference", params=params)
    record = draw(jobs, finished, config)
    until(lambda: any(event["event"] == "phase" for event in record.events()))
    phase = next(event for event in record.events() if event["event"] == "phase")
    assert phase["words"] == "scikit-learn lays out the points; it shows nothing before its end"
    jobs.stop(record)
    assert until(lambda: jobs.status(record).phase == "stopped") < 8
    assert record.resume_state is None
    assert draw(jobs, finished, config.replace(params=params | {"iterations": 250}), resume=True).id != record.id


def test_a_reference_projection_places_query_images(jobs, finished, until):
    config = ProjectionConfig(method="tsne", engine="reference", params={"iterations": 250, "metric": "manhattan"})
    record = draw(jobs, finished, config)
    until(lambda: jobs.status(record).phase == "finished")
    assert 0.5 < record.end["faithfulness"]["trustworthiness"] <= 1
    answer = embed(jobs, finished, load("digits").test.images[:2])
    np.testing.assert_allclose(answer["places"][record.id], record.coordinates[:2], atol=1e-2)


def test_the_first_dimensions_are_drawn_and_queries_placed_as_if_the_embedding_were_cut_there(jobs, finished, until):
    whole = finished.embeddings.shape[1]
    config = ProjectionConfig(method="pca", prefix=4)
    record = draw(jobs, finished, config)
    until(lambda: jobs.status(record).phase == "finished")
    short = finished.embeddings[:, :4]
    if finished.config.normalize:
        short = short / np.linalg.norm(short, axis=1, keepdims=True)
    expected = project(short, ProjectionConfig(method="pca"), labels=finished.labels).coordinates
    np.testing.assert_allclose(record.coordinates, expected, atol=1e-4)
    answer = embed(jobs, finished, load("digits").test.images[:2])
    np.testing.assert_allclose(answer["places"][record.id], record.coordinates[:2], atol=1e-3)
    assert (
        page_contents(RunExport(finished, record))["picture"]["note"]
        == f"Drawn from the first 4 of {whole} dimensions; scores and neighbors are of all."
    )
    with pytest.raises(UserError, match=f"here {whole}; got {whole + 1}: choose fewer"):
        draw(jobs, finished, ProjectionConfig(method="tsne", prefix=whole + 1))
    assert ProjectionConfig().id == ProjectionConfig(prefix=None).id != ProjectionConfig(prefix=2).id


def test_a_paused_projection_resumes_and_holds_no_slot(jobs, finished, until):
    config = ProjectionConfig(method="tsne", params={"iterations": 2000}, seed=1)
    record = draw(jobs, finished, config)
    until(lambda: any(event.get("iteration") for event in record.events()))
    jobs.stop(record)
    until(lambda: jobs.status(record).phase == "stopped")
    until(lambda: not jobs.running_for())
    iteration, positions, momentum = record.resume_state
    assert momentum.shape == (2, *positions.shape)
    assert 0 < iteration < 2000
    assert draw(jobs, finished, config, resume=True).id == record.id
    until(lambda: jobs.status(record).phase == "finished")
    later = record.events()
    again = next(number for number, event in enumerate(later) if number and event["event"] == "started")
    assert later[again]["iteration"] == iteration
    assert all(event["iteration"] >= iteration for event in later[again:])
    assert record.resume_state is None
    assert record.coordinates.shape == positions.shape


def test_an_epoch_is_projected_by_itself(jobs, finished, until):
    one = draw(jobs, finished, ProjectionConfig(step=finished.embedded_steps[1]))
    until(lambda: jobs.status(one).phase == "finished")
    assert one.coordinates.shape == (len(finished.tracked_indices), 2)
    assert one.end["frame"]["items"] == "tracked"
    with pytest.raises(UserError, match="no snapshot at step 999"):
        draw(jobs, finished, ProjectionConfig(step=999))


@pytest.mark.parametrize("method", ["umap", "pca"])
def test_a_map_of_a_finished_run_goes_through_its_snapshots_and_ends_with_all_test_images(
    jobs, finished, until, method
):
    record = draw(jobs, finished, ProjectionConfig(method=method, follow=True))
    until(lambda: jobs.status(record).phase == "finished")
    layouts = record.layouts
    assert [step for step in layouts if step < finished.end_step] == finished.snapshot_steps[: len(layouts)]
    assert record.positions(layouts[finished.snapshot_steps[0]]).shape == (len(finished.tracked_indices), 2)
    assert record.coordinates.shape == (len(finished.labels), 2)
    assert record.end["iteration"] == finished.end_step
    frames = [event for event in record.events() if event["event"] == "frame"]
    assert all(0 < event["faithfulness"]["neighbors_kept"] <= 1 for event in frames)
    if method == "pca":  # all on the last basis
        alone = project(finished.embeddings, ProjectionConfig(method="pca"))
        np.testing.assert_allclose(record.coordinates, alone.coordinates, atol=1e-4)


def test_a_training_waits_for_no_map_of_another_run(jobs, finished, short):
    draw(jobs, finished, ProjectionConfig(method="tsne", params={"iterations": 5_000}))
    run = jobs.submit(training(jobs.runs, short.replace(seed=63)))
    assert jobs.status(run).phase != "queued"


def test_a_map_follows_a_training_beside_it_and_settles_where_it_stands(jobs, short, until):
    run = jobs.submit(training(jobs.runs, short.replace(steps=4_000, num_snapshots=200, eval_subset_size=400, seed=60)))
    record = draw(jobs, run, ProjectionConfig(method="tsne", params={"iterations": 250}, follow=True))
    until(lambda: len(record.layouts) > 2)
    assert jobs.status(run).phase == "running"  # in the only slot
    jobs.stop(run)
    until(lambda: jobs.status(record).phase == "finished")
    drawn = [event["step"] for event in record.events() if event["event"] == "frame" and "step" in event]
    steps = [step for step in dict.fromkeys(drawn) if step != run.end_step]
    assert steps == sorted(steps)
    assert len(drawn) > len(steps)  # it moves between snapshots, too
    first = next(event for event in record.events() if event["event"] != "started")
    assert first["words"] == "Drawing the first layout"  # the training waits for nothing
    last = record.positions(record.layouts[steps[-1]])
    settled = record.coordinates[run.tracked_indices]
    assert np.corrcoef((last - last.mean(0)).ravel(), (settled - settled.mean(0)).ravel())[0, 1] > 0.7  # no jump


@pytest.mark.parametrize("method", ["tsne", "umap"])
def test_what_a_map_left_out_of_a_training_is_drawn_when_that_is_over(finished, method, monkeypatch):
    monkeypatch.setattr("dmlviz.runs.projection_run.lower_priority", lambda below: None)  # this is no worker
    record = Runs(finished.path.parent).create_projection(
        finished, ProjectionConfig(method=method, seed=3, follow=True)
    )
    looks = iter(range(40))
    run_projection(record.path, trains=lambda run: next(looks, 40) < 12)  # only the newest snapshot is drawn meanwhile
    live = [event["step"] for event in record.events() if event["event"] == "frame" and "step" in event]
    assert {*live} - {finished.end_step} < {*finished.snapshot_steps}
    assert [*record.layouts] == [*finished.snapshot_steps, finished.end_step]
    assert record.end["event"] == "finished"
    first, second = (record.positions(record.layouts[step]) for step in finished.snapshot_steps[-3:-1])
    assert np.corrcoef((first - first.mean(0)).ravel(), (second - second.mean(0)).ravel())[0, 1] > 0.5  # it goes on


def test_a_map_that_made_way_for_another_goes_on_where_it_stood(jobs, short, until):
    run = jobs.submit(training(jobs.runs, short.replace(steps=60_000, num_snapshots=1000, seed=61)))
    config = ProjectionConfig(method="umap", follow=True)
    record = draw(jobs, run, config)
    until(lambda: len(record.layouts) > 1)
    jobs.stop(record)
    until(lambda: jobs.status(record).phase == "stopped")
    before = record.layouts
    assert draw(jobs, run, config, resume=True).id == record.id
    until(lambda: len(record.layouts) > len(before) + 1)
    assert before.items() <= record.layouts.items()


def test_a_map_with_other_settings_goes_on_from_the_one_before(jobs, short, until):
    run = jobs.submit(training(jobs.runs, short.replace(steps=60_000, num_snapshots=1000, seed=62)))
    first = draw(jobs, run, ProjectionConfig(method="umap", follow=True))
    until(lambda: len(first.layouts) > 3)
    jobs.stop(first)
    until(lambda: jobs.status(first).phase == "stopped")
    config = ProjectionConfig(method="umap", params={"min_dist": 0.5}, follow=True)
    second = draw(jobs, run, config, begin=first.id)
    until(lambda: second.layouts)
    before = first.positions(first.layouts[max(first.layouts)])
    after = second.positions(second.layouts[min(second.layouts)])
    assert np.corrcoef((before - before.mean(0)).ravel(), (after - after.mean(0)).ravel())[0, 1] > 0.8


@pytest.mark.parametrize("method", ["tsne", "umap", "localmap"])
def test_a_finished_map_with_other_settings_goes_on_from_where_its_points_are(jobs, finished, until, method):
    name, value = {"tsne": ("perplexity", 15)}.get(method, ("neighbors", 8))
    other = ProjectionConfig(method=method, params={name: value})
    first = draw(jobs, finished, ProjectionConfig(method=method, follow=True))
    until(lambda: jobs.status(first).phase == "finished")
    step = finished.snapshot_steps[2]
    early = first.positions(first.layouts[step])  # which had little time
    for config, places, far in ((other, first.coordinates, 0.1), (other.replace(step=step), early, 0.2)):
        drawn = draw(jobs, finished, config, begin=first.id)
        until(lambda drawn=drawn: jobs.status(drawn).phase == "finished")
        frame = next(event["frame"] for event in drawn.events() if event["event"] == "frame")
        np.testing.assert_allclose(drawn.positions(frame), places, atol=1e-3 * np.ptp(places))
        before, after = ((y - y.mean(0)) / y.std() for y in (places, drawn.coordinates))
        assert np.median(np.linalg.norm(after - before, axis=1)) < far * np.linalg.norm(np.ptp(before, axis=0))
    again = draw(jobs, finished, other.replace(seed=1), begin=first.id)  # which is to show what depends on chance
    until(lambda: jobs.status(again).phase == "finished")
    frame = next(event["frame"] for event in again.events() if event["event"] == "frame")
    assert not np.allclose(again.positions(frame), first.coordinates, atol=0.1 * np.ptp(first.coordinates))


def test_a_bundled_run_takes_queries_and_projections(tmp_path, until):
    jobs = JobScheduler(tmp_path, slots=1, warm=False)
    try:
        run = next(run for run in jobs.runs.list() if not run.info.get("fails"))
        images = load("digits").test.images
        answer = embed(jobs, run, images[:1])
        np.testing.assert_allclose(answer["embeddings"], run.embeddings[:1], atol=1e-4)
        np.testing.assert_allclose(answer["places"]["live"], run.embeddings[:1], atol=1e-4)
        record = draw(jobs, run, ProjectionConfig(method="plane"))
        until(lambda: jobs.status(record).phase == "finished")
        copy = jobs.runs.get(run.id)
        np.testing.assert_allclose(copy.projection(record.id).coordinates, run.embeddings)
        assert not (run.path / "projections").exists()
        assert jobs.submit(training(jobs.runs, run.config)).id == run.id
        assert jobs.status(run).phase == "finished"
    finally:
        jobs.close()
