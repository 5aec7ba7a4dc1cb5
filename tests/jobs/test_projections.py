"""Jobs on a finished run: embedding query images, projections."""

import json

import numpy as np
import pytest

from dmlviz.config import ProjectionConfig
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.jobs.scheduler import JobScheduler


def test_a_query_is_placed_where_the_net_embeds_it(jobs, finished):
    images = load("digits").test.images[:3]
    answer = jobs.embed(finished.id, images)
    np.testing.assert_allclose(answer["embeddings"], finished.embeddings[:3], atol=1e-5)
    np.testing.assert_allclose(
        answer["places"]["live"], finished.linear_projection.project(np.asarray(answer["embeddings"])), atol=1e-5
    )
    json.dumps(answer)
    assert finished.neighbors_of_point(np.asarray(answer["embeddings"][0]), 1)[0].item == 0


def test_images_of_another_shape_are_refused_with_one_sentence(jobs, finished, long):
    with pytest.raises(UserError, match="28 × 28"):
        jobs.embed(finished.id, np.zeros((1, 28, 28), np.uint8))
    with pytest.raises(UserError, match="no run"):
        jobs.embed("0" * 16, np.zeros((1, 8, 8), np.uint8))
    run = jobs.submit(long.replace(seed=40))
    with pytest.raises(UserError, match="training has finished"):
        jobs.embed(run, np.zeros((1, 8, 8), np.uint8))
    assert len(jobs.embed(finished.id, np.zeros((2, 8, 8), np.uint8))["embeddings"]) == 2  # it goes on answering


def test_a_projection_runs_as_a_job(jobs, finished, until):
    config = ProjectionConfig(method="pca")
    projection = jobs.project(finished.id, config)
    until(lambda: jobs.status(finished.id, projection).phase == "finished")
    drawing = finished.drawing(projection)
    assert drawing.coordinates.shape == (len(finished.labels), 2)
    end = drawing.end
    assert len(drawing.frame(end["frame"]["id"])) == len(finished.labels) * 2 * 2
    assert jobs.project(finished.id, config) == projection
    assert jobs.running_for() == []
    assert drawing.quality["trustworthiness"].shape == (len(finished.labels),)
    assert 0 < end["faithfulness"]["trustworthiness"] <= 1
    answer = jobs.embed(finished.id, load("digits").test.images[:2])
    np.testing.assert_allclose(answer["places"][projection], drawing.coordinates[:2], atol=1e-3)
    assert list(jobs.embed(finished.id, load("digits").test.images[:2], views=[])["places"]) == ["live"]


def test_a_projection_of_an_unfinished_run_is_refused(jobs, long):
    run = jobs.submit(long.replace(seed=50))
    with pytest.raises(UserError, match="wait until its training ends"):
        jobs.project(run, ProjectionConfig(method="pca"))
    with pytest.raises(UserError, match="no run"):
        jobs.project("0" * 16, ProjectionConfig(method="pca"))


def test_an_invalid_projection_is_refused_before_it_is_queued(jobs, finished):
    with pytest.raises(UserError, match="at most 2 dimensions"):
        jobs.project(finished.id, ProjectionConfig(method="plane"))
    assert jobs.running_for() == []


def test_a_projection_can_be_stopped(jobs, finished, until):
    projection = jobs.project(finished.id, ProjectionConfig(method="tsne", params={"iterations": 5000}))
    until(lambda: any(event["event"] == "frame" for event in finished.drawing(projection).events()))
    jobs.stop(finished.id, projection)
    assert until(lambda: jobs.status(finished.id, projection).phase == "stopped") < 8  # two seconds on an idle machine
    assert jobs.status(finished.id).phase == "finished"


def test_a_reference_projection_shows_its_phase_stops_at_once_and_restarts(jobs, finished, until):
    params = {"iterations": 5000, "method": "exact"}
    config = ProjectionConfig(method="tsne", engine="reference", params=params)
    projection = jobs.project(finished.id, config)
    drawing = finished.drawing(projection)
    until(lambda: any(event["event"] == "phase" for event in drawing.events()))
    phase = next(event for event in drawing.events() if event["event"] == "phase")
    assert phase["words"] == "scikit-learn lays out the points; it shows nothing before its end"
    jobs.stop(finished.id, projection)
    assert until(lambda: jobs.status(finished.id, projection).phase == "stopped") < 8
    assert drawing.resume_state is None
    assert jobs.project(finished.id, config.replace(params=params | {"iterations": 250}), resume=True) != projection


def test_a_reference_projection_places_query_images(jobs, finished, until):
    config = ProjectionConfig(method="tsne", engine="reference", params={"iterations": 250, "metric": "manhattan"})
    projection = jobs.project(finished.id, config)
    until(lambda: jobs.status(finished.id, projection).phase == "finished")
    drawing = finished.drawing(projection)
    assert 0.5 < drawing.end["faithfulness"]["trustworthiness"] <= 1
    answer = jobs.embed(finished.id, load("digits").test.images[:2])
    np.testing.assert_allclose(answer["places"][projection], drawing.coordinates[:2], atol=1e-2)


def test_a_paused_projection_resumes_and_holds_no_slot(jobs, finished, until):
    config = ProjectionConfig(method="tsne", params={"iterations": 800}, seed=1)
    projection = jobs.project(finished.id, config)
    drawing = finished.drawing(projection)
    until(lambda: any(event.get("iteration") for event in drawing.events()))
    jobs.stop(finished.id, projection)
    until(lambda: jobs.status(finished.id, projection).phase == "stopped")
    until(lambda: not jobs.running_for())
    iteration, positions = drawing.resume_state
    assert 0 < iteration < 800
    assert jobs.project(finished.id, config, resume=True) == projection
    until(lambda: jobs.status(finished.id, projection).phase == "finished")
    later = drawing.events()
    again = next(number for number, event in enumerate(later) if number and event["event"] == "started")
    assert later[again]["iteration"] == iteration
    assert all(event["iteration"] >= iteration for event in later[again:])
    assert drawing.resume_state is None
    assert drawing.coordinates.shape == positions.shape


def test_epochs_are_projected_one_by_one_and_all_together(jobs, finished, until):
    step = finished.embedded_steps[1]
    one = jobs.project(finished.id, ProjectionConfig(step=step))
    until(lambda: jobs.status(finished.id, one).phase == "finished")
    tracked = len(finished.tracked_indices)
    assert finished.drawing(one).coordinates.shape == (tracked, 2)
    assert finished.drawing(one).end["frame"]["items"] == "tracked"
    film = jobs.project(finished.id, ProjectionConfig(method="umap", params={"iterations": 20}, all_epochs=True))
    until(lambda: jobs.status(finished.id, film).phase == "finished")
    replay = next(event for event in finished.drawing(film).events() if event["event"] == "replay")
    assert [frame["step"] for frame in replay["frames"]] == finished.embedded_steps
    assert len({frame["scale"] for frame in replay["frames"]}) == 1
    assert finished.drawing(film).coordinates.shape == (len(finished.embedded_steps), tracked, 2)
    with pytest.raises(UserError, match="no snapshot at step 999"):
        jobs.project(finished.id, ProjectionConfig(step=999))


def test_a_bundled_run_takes_queries_and_projections(tmp_path, until):
    jobs = JobScheduler(tmp_path, slots=1, warm=False)
    try:
        run = next(run for run in jobs.runs.list() if not run.info.get("fails"))
        images = load("digits").test.images
        answer = jobs.embed(run.id, images[:1])
        np.testing.assert_allclose(answer["embeddings"], run.embeddings[:1], atol=1e-4)
        np.testing.assert_allclose(answer["places"]["live"], run.embeddings[:1], atol=1e-4)
        projection = jobs.project(run.id, ProjectionConfig(method="plane"))
        until(lambda: jobs.status(run.id, projection).phase == "finished")
        copy = jobs.runs.get(run.id)
        np.testing.assert_allclose(copy.drawing(projection).coordinates, run.embeddings)
        assert not (run.path / "projections").exists()
        assert jobs.submit(run.config) == run.id
        assert jobs.status(run.id).phase == "finished"
    finally:
        jobs.close()
