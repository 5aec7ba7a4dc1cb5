import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.jobs import QUEUED_EACH, Jobs
from dmlviz.runs import Runs

SHORT = TrainConfig(dataset="digits", net="mlp", embedding_dim=8, steps=20, snapshots=4, watched=100)
LONG = SHORT.but(steps=500_000)


def until(promise, seconds=120.0):
    """Wait until `promise()` holds, and give the seconds that it took."""
    begun = time.monotonic()
    while not promise():
        assert time.monotonic() - begun < seconds, "this took too long"
        time.sleep(0.01)
    return time.monotonic() - begun


def phase(jobs, run, projection=None):
    return jobs.status(run, projection).phase


def worker_of(jobs, run):
    return next(worker for worker, job in jobs._active.items() if job.key.run == run)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """One slot, a warm worker; shared, so that a test leaves nothing under way."""
    jobs = Jobs(Runs(tmp_path_factory.mktemp("runs")), slots=1)
    yield jobs
    jobs.close()


@pytest.fixture(autouse=True)
def nothing_left_under_way(request):
    yield
    if "jobs" in request.fixturenames:
        jobs = request.getfixturevalue("jobs")
        for key, _ in jobs.under_way():
            jobs.stop(*key)
        until(lambda: not jobs.under_way())


@pytest.fixture(scope="module")
def finished(jobs):
    run = jobs.submit(SHORT)
    until(lambda: phase(jobs, run) == "finished")
    return jobs.runs.get(run)


def test_a_training_goes_to_the_end_and_leaves_everything(finished):
    test = load("digits").test
    assert finished.config == SHORT
    assert finished.embeddings.shape == (len(test), 8)
    np.testing.assert_array_equal(finished.labels, test.labels)
    assert 0 < finished.metrics["precision_at_1"] <= 1
    names = [event["event"] for event in finished.events()]
    assert names[0] == "started"
    assert names.count("step") == 20
    assert names[-2:] == ["replay", "finished"]
    assert not list(finished.path.rglob("*.tmp"))


def test_the_same_request_again_is_the_same_run(jobs, finished):
    begun = time.monotonic()
    assert jobs.submit(SHORT, owner="somebody else") == finished.id
    assert time.monotonic() - begun < 0.5
    assert phase(jobs, finished.id) == "finished"
    assert jobs.under_way() == []
    assert jobs.runs.get(finished.id).created == finished.created


def test_many_who_ask_at_once_share_one_run(jobs):
    config, ids = LONG.but(seed=1), []
    ask = [threading.Thread(target=lambda who=i: ids.append(jobs.submit(config, f"owner {who}"))) for i in range(12)]
    for thread in ask:
        thread.start()
    for thread in ask:
        thread.join()
    assert ids == [config.id] * 12
    assert [key.run for key, _ in jobs.under_way()] == [config.id]
    until(lambda: phase(jobs, config.id) == "running")
    assert len([event for event in jobs.runs.get(config.id).events() if event["event"] == "started"]) == 1


def test_stop_ends_within_two_seconds_with_all_images_embedded(jobs):
    seconds = []
    for seed in range(60, 63):  # on a machine that is busy with something else, the fastest of three
        run = jobs.submit(LONG.but(seed=seed))
        until(lambda run=run: jobs.runs.get(run).snapshot_steps)
        assert jobs.stop(run)
        assert phase(jobs, run) in ("stopping", "stopped")
        seconds.append(until(lambda run=run: phase(jobs, run) == "stopped"))
        stopped = jobs.runs.get(run)
        assert stopped.embeddings.shape == (len(load("digits").test), 8)
        assert stopped.end["metrics"]["precision_at_1"] > 0
        assert jobs.status(run).reason
        until(lambda: not jobs.under_way())
        assert not jobs.stop(run)
        if seconds[-1] < 2:
            break
    assert min(seconds) < 2


def test_a_second_stop_ends_at_once(jobs):
    run = jobs.submit(LONG.but(seed=3))
    until(lambda: jobs.runs.get(run).snapshot_steps)
    pid = worker_of(jobs, run).pid
    jobs.stop(run)
    jobs.stop(run)
    assert until(lambda: not alive(pid)) < 5  # a second on an idle machine
    until(lambda: phase(jobs, run) == "stopped")


def test_a_stopped_run_that_is_asked_for_again_starts_again(jobs):
    run = jobs.submit(LONG.but(seed=4))
    until(lambda: jobs.runs.get(run).snapshot_steps)
    before = jobs.runs.get(run).created
    jobs.stop(run)
    assert jobs.submit(LONG.but(seed=4)) == run
    assert phase(jobs, run) in ("starting", "running")
    assert jobs.runs.get(run).created > before
    until(lambda: phase(jobs, run) == "running")


def test_the_queue_shows_positions_and_moves_on(jobs):
    first, second, third = (jobs.submit(LONG.but(seed=seed), owner=str(seed)) for seed in (10, 11, 12))
    assert [phase(jobs, run) for run in (first, second, third)][1:] == ["queued", "queued"]
    status = jobs.status(third)
    assert (status.position, status.of) == (2, 2)
    assert jobs.runs.get(third).title  # a queued run has its page already
    jobs.stop(second)
    assert phase(jobs, second) == "stopped"
    assert jobs.runs.get(second).state == "stopped"
    status = jobs.status(third)
    assert (status.position, status.of) == (1, 1)
    jobs.stop(first)
    until(lambda: phase(jobs, third) == "running")
    assert jobs.status(third).position is None


def test_one_owner_has_one_job_at_a_time_and_three_waiting(tmp_path):
    jobs = Jobs(tmp_path, slots=3, warm=False)
    try:
        mine = [jobs.submit(LONG.but(seed=seed), owner="me") for seed in range(1 + QUEUED_EACH)]
        assert [jobs.status(run).phase for run in mine][1:] == ["queued"] * 3
        with pytest.raises(UserError, match="one job under way and 3 waiting"):
            jobs.submit(LONG.but(seed=99), owner="me")
        assert jobs.submit(LONG.but(seed=0), owner="me") == mine[0]  # not a new one
        theirs = jobs.submit(LONG.but(seed=100), owner="you")
        assert jobs.status(theirs).phase == "starting"  # a slot is free, and it is not theirs to wait for mine
        assert [key.run for key, _ in jobs.under_way("you")] == [theirs]
    finally:
        jobs.close()


def test_one_of_two_who_share_a_job_cannot_stop_it_for_the_other(jobs):
    config = LONG.but(seed=20)
    run = jobs.submit(config, owner="me")
    jobs.submit(config, owner="you")
    assert not jobs.stop(run, owner="a stranger")
    assert not jobs.stop(run, owner="me")
    assert phase(jobs, run) in ("starting", "running")
    assert jobs.stop(run, owner="you")
    until(lambda: phase(jobs, run) == "stopped")


def test_a_killed_worker_is_a_failure_with_a_reason_and_the_next_job_runs(jobs):
    run = jobs.submit(LONG.but(seed=30))
    following = jobs.submit(SHORT.but(seed=30))
    until(lambda: jobs.runs.get(run).snapshot_steps)
    os.kill(worker_of(jobs, run).pid, signal.SIGKILL)
    until(lambda: phase(jobs, run) == "failed")
    assert "killed (signal 9): most likely out of memory" in jobs.status(run).reason
    assert jobs.runs.get(run).state == "failed"
    assert jobs.runs.get(run).end["reason"] == jobs.status(run).reason
    until(lambda: phase(jobs, following) == "finished")


def test_a_warm_worker_that_died_is_replaced(jobs):
    jobs.crew.make_spare()
    spare = jobs.crew.spare
    os.kill(spare.pid, signal.SIGKILL)
    run = jobs.submit(SHORT.but(seed=31))
    until(lambda: phase(jobs, run) not in ("queued", "starting", "running"))
    assert phase(jobs, run) in ("finished", "failed")
    again = jobs.submit(SHORT.but(seed=31))
    until(lambda: phase(jobs, again) == "finished")


def test_damaged_data_are_a_failure_with_a_sentence(tmp_path):
    raw = tmp_path / "data/MNIST/raw"
    raw.mkdir(parents=True)
    for part in ("train", "t10k"):
        for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"):
            (raw / f"{part}-{kind}").write_bytes(b"not an idx file")
    jobs = Jobs(tmp_path / "runs", slots=1, data_root=tmp_path / "data", warm=False)
    try:
        run = jobs.submit(SHORT.but(dataset="mnist"))
        until(lambda: phase(jobs, run) == "failed")
        assert "idx3-ubyte" in jobs.status(run).reason
        assert "Traceback" not in jobs.status(run).reason
    finally:
        jobs.close()


def test_a_drawing_is_placed_where_the_net_puts_it(jobs, finished):
    images = load("digits").test.images[:3]
    answer = jobs.embed(finished.id, images)
    np.testing.assert_allclose(answer["embeddings"], finished.embeddings[:3], atol=1e-5)
    np.testing.assert_allclose(
        answer["places"]["live"], finished.basis.project(np.asarray(answer["embeddings"])), atol=1e-5
    )
    json.dumps(answer)
    assert finished.nearest(np.asarray(answer["embeddings"][0]), 1)[0].item == 0


def test_pictures_that_a_net_cannot_take_are_refused_with_a_sentence(jobs, finished):
    with pytest.raises(UserError, match="28 × 28"):
        jobs.embed(finished.id, np.zeros((1, 28, 28), np.uint8))
    with pytest.raises(UserError, match="no run"):
        jobs.embed("0" * 16, np.zeros((1, 8, 8), np.uint8))
    run = jobs.submit(LONG.but(seed=40))
    with pytest.raises(UserError, match="end of its training"):
        jobs.embed(run, np.zeros((1, 8, 8), np.uint8))
    assert len(jobs.embed(finished.id, np.zeros((2, 8, 8), np.uint8))["embeddings"]) == 2  # it goes on answering


def test_an_answering_worker_that_was_killed_comes_back(jobs, finished):
    images = load("digits").test.images[:1]
    jobs.embed(finished.id, images)
    worker = jobs.embedder._worker
    worker.kill()
    worker.join(5)
    assert len(jobs.embed(finished.id, images)["embeddings"]) == 1
    assert jobs.embedder._worker is not worker


def test_a_projection_is_a_job_too(jobs, finished):
    config = ProjectionConfig(method="pca")
    projection = jobs.project(finished.id, config)
    until(lambda: phase(jobs, finished.id, projection) == "finished")
    drawing = finished.drawing(projection)
    assert drawing.coordinates.shape == (len(finished.labels), 2)
    end = drawing.end
    assert len(drawing.frame(end["frame"]["id"])) == len(finished.labels) * 2 * 2
    assert jobs.project(finished.id, config) == projection
    assert jobs.under_way() == []
    assert drawing.faithfulness["trustworthiness"].shape == (len(finished.labels),)
    assert 0 < end["faithfulness"]["trustworthiness"] <= 1
    answer = jobs.embed(finished.id, load("digits").test.images[:2])
    np.testing.assert_allclose(answer["places"][projection], drawing.coordinates[:2], atol=1e-3)
    assert list(jobs.embed(finished.id, load("digits").test.images[:2], views=[])["places"]) == ["live"]


def test_a_projection_of_what_is_not_there_yet_is_refused(jobs):
    run = jobs.submit(LONG.but(seed=50))
    with pytest.raises(UserError, match="wait for the end of its training"):
        jobs.project(run, ProjectionConfig(method="pca"))
    with pytest.raises(UserError, match="no run"):
        jobs.project("0" * 16, ProjectionConfig(method="pca"))


def test_a_projection_that_cannot_be_is_refused_before_it_is_queued(jobs, finished):
    with pytest.raises(UserError, match="at most 2 dimensions"):
        jobs.project(finished.id, ProjectionConfig(method="plane"))
    assert jobs.under_way() == []


def test_a_projection_can_be_stopped(jobs, finished):
    projection = jobs.project(finished.id, ProjectionConfig(method="tsne", params={"iterations": 5000}))
    until(lambda: any(event["event"] == "frame" for event in finished.drawing(projection).events()))
    jobs.stop(finished.id, projection)
    assert until(lambda: phase(jobs, finished.id, projection) == "stopped") < 8  # two seconds on an idle machine
    assert phase(jobs, finished.id) == "finished"


def test_a_projection_that_was_paused_goes_on_and_holds_no_slot_meanwhile(jobs, finished):
    config = ProjectionConfig(method="tsne", params={"iterations": 800}, seed=1)
    projection = jobs.project(finished.id, config)
    drawing = finished.drawing(projection)
    until(lambda: any(event.get("iteration") for event in drawing.events()))
    jobs.stop(finished.id, projection)
    until(lambda: phase(jobs, finished.id, projection) == "stopped")
    until(lambda: not jobs.under_way())
    iteration, positions = drawing.reached
    assert 0 < iteration < 800
    assert jobs.project(finished.id, config, resume=True) == projection
    until(lambda: phase(jobs, finished.id, projection) == "finished")
    later = drawing.events()
    again = next(number for number, event in enumerate(later) if number and event["event"] == "started")
    assert later[again]["iteration"] == iteration
    assert all(event["iteration"] >= iteration for event in later[again:])
    assert drawing.reached is None
    assert drawing.coordinates.shape == positions.shape


def test_the_epochs_of_a_run_are_drawn_one_by_one_and_as_a_film(jobs, finished):
    step = finished.epochs[1]
    one = jobs.project(finished.id, ProjectionConfig(step=step))
    until(lambda: phase(jobs, finished.id, one) == "finished")
    watched = len(finished.watched)
    assert finished.drawing(one).coordinates.shape == (watched, 2)
    assert finished.drawing(one).end["frame"]["items"] == "watched"
    film = jobs.project(finished.id, ProjectionConfig(method="umap", params={"iterations": 20}, film=True))
    until(lambda: phase(jobs, finished.id, film) == "finished")
    replay = next(event for event in finished.drawing(film).events() if event["event"] == "replay")
    assert [frame["step"] for frame in replay["frames"]] == finished.epochs
    assert len({frame["scale"] for frame in replay["frames"]}) == 1
    assert finished.drawing(film).coordinates.shape == (len(finished.epochs), watched, 2)
    with pytest.raises(UserError, match="no epoch at step 999"):
        jobs.project(finished.id, ProjectionConfig(step=999))


def test_what_nobody_asked_for_is_unknown(jobs):
    assert phase(jobs, "0" * 16) == "unknown"
    assert phase(jobs, "../..") == "unknown"
    assert not jobs.stop("0" * 16)


def test_close_leaves_no_process_and_runs_that_are_cut_off(tmp_path):
    jobs = Jobs(tmp_path, slots=1)
    run = jobs.submit(LONG)
    until(lambda: phase(jobs, run) == "running")
    jobs.crew.make_spare()
    pids = [worker_of(jobs, run).pid, jobs.crew.spare.pid]
    assert all(map(alive, pids))
    jobs.close()
    assert not any(map(alive, pids))
    assert Runs(tmp_path).get(run).state == "cut off"
    with pytest.raises(UserError, match="closing down"):
        jobs.submit(SHORT)


def test_nothing_outlives_a_server_that_was_killed_and_its_run_can_be_asked_for_again(tmp_path):
    script = (
        "import os, sys, time; from dmlviz.config import TrainConfig; from dmlviz.jobs import Jobs\n"
        "from pathlib import Path\n"
        "jobs = Jobs(sys.argv[1], slots=1); run = jobs.submit(TrainConfig.from_json(sys.argv[2]))\n"
        "while not jobs.runs.get(run).snapshot_steps: time.sleep(0.01)\n"
        "jobs.crew.make_spare(); pids = [*[w.pid for w in jobs._active], jobs.crew.spare.pid]\n"
        "children = Path(f'/proc/self/task/{os.getpid()}/children').read_text()\n"
        "print(*pids, *children.split(), flush=True)\n"
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(tmp_path), LONG.to_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        pids = [int(pid) for pid in server.stdout.readline().split()]
        assert len(pids) == 3  # the training, the spare one, and the process that forked both
        assert all(map(alive, pids))
        server.kill()
    training, *_ = pids
    assert until(lambda: not alive(training)) < 5  # a second on an idle machine
    until(lambda: not any(map(alive, pids)), 10)
    jobs = Jobs(tmp_path, slots=1, warm=False)
    try:
        until(lambda: phase(jobs, LONG.id) == "cut off", 10)  # its lock falls with the last of its threads
        assert jobs.submit(LONG) == LONG.id
        until(lambda: phase(jobs, LONG.id) == "running")
    finally:
        jobs.close()


def test_the_ready_made_run_takes_drawings_and_projections(tmp_path):
    jobs = Jobs(tmp_path, slots=1, warm=False)
    try:
        run = next(run for run in jobs.runs.list() if not run.info.get("fails"))
        images = load("digits").test.images
        answer = jobs.embed(run.id, images[:1])
        np.testing.assert_allclose(answer["embeddings"], run.embeddings[:1], atol=1e-4)
        np.testing.assert_allclose(answer["places"]["live"], run.embeddings[:1], atol=1e-4)
        projection = jobs.project(run.id, ProjectionConfig(method="plane"))
        until(lambda: phase(jobs, run.id, projection) == "finished")
        copy = jobs.runs.get(run.id)
        np.testing.assert_allclose(copy.drawing(projection).coordinates, run.embeddings)
        assert not (run.path / "projections").exists()
        assert jobs.submit(run.config) == run.id
        assert phase(jobs, run.id) == "finished"
    finally:
        jobs.close()
