"""Deleted runs can be restored, and old runs make room."""

import contextlib
import json
import os
import re
import time

import pytest

from dmlviz.config import TrainConfig
from dmlviz.errors import UserError
from dmlviz.runs.quota import Rank, check_room, enforce, folder_size, format_bytes, parse_limit, run_size, total_size
from dmlviz.runs.record_writer import RecordWriter
from dmlviz.runs.size_estimate import estimate_size
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record

SIZE = 100_000


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path / "runs", bundled=tmp_path / "bundled")


def made(runs, day, size=SIZE):
    """A finished run of that day, about as large as said."""
    run = runs.create(TrainConfig(dataset="digits", seed=day))
    described = json.loads((run.path / "run.json").read_text()) | {"created": f"2026-01-{day:02}T00:00:00+00:00"}
    (run.path / "run.json").write_text(json.dumps(described))
    (run.path / "embeddings.npy").write_bytes(bytes(size))
    with RecordWriter(run) as writer:
        writer.event({"event": "finished", "step": 1, "metrics": {}})
    return runs.get(run.id)


def days(runs):
    return sorted(run.config.seed for run in runs.list())


def nobody(run):
    return False


def test_a_deleted_run_comes_back_whole(runs):
    run = made(runs, 1)
    files = {path.name: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    runs.delete(run.id)
    assert runs.list() == []
    back = runs.restore(run.id)
    assert {path.name: path.read_bytes() for path in back.path.rglob("*") if path.is_file()} == files
    assert days(runs) == [1]


def test_a_run_that_was_trained_again_is_not_overwritten_by_the_deleted_one(runs):
    run = made(runs, 1)
    runs.delete(run.id)
    made(runs, 1, size=7)
    with pytest.raises(UserError, match="trained again"):
        runs.restore(run.id)
    assert (runs.get(run.id).path / "embeddings.npy").stat().st_size == 7


def test_a_run_that_was_deleted_twice_comes_back_as_it_was_last(runs):
    run = made(runs, 1)
    runs.delete(run.id)
    made(runs, 1, size=7)
    runs.delete(run.id)
    assert (runs.restore(run.id).path / "embeddings.npy").stat().st_size == 7


@pytest.mark.parametrize("run", ["0" * 16, "../run", ""])
def test_what_is_not_in_the_trash_is_gone_for_good(runs, run):
    with pytest.raises(UserError, match="no longer be restored"):
        runs.restore(run)


def test_the_trash_forgets_after_a_day(runs):
    first, second = made(runs, 1), made(runs, 2)
    runs.delete(first.id)
    runs.delete(second.id)
    yesterday = time.time() - 25 * 3600
    os.utime(runs.trash.folder / first.id, (yesterday, yesterday))
    runs.trash.empty()
    assert [path.name for path in runs.trash.runs()] == [second.id]


def test_what_is_being_computed_is_not_deleted(runs):
    run = made(runs, 1)
    (run.path / "events.jsonl").write_text("")
    with RecordWriter(run), pytest.raises(UserError, match="stop it first"):
        runs.delete(run.id)


def test_the_oldest_make_room_and_no_more_of_them_than_needed(runs):
    for day in (3, 1, 4, 2):
        made(runs, day)
    gone = enforce(runs, round(2.5 * SIZE), nobody)
    assert [run.config.seed for run in gone] == [1, 2]
    assert days(runs) == [3, 4]
    assert total_size(runs) <= 2.5 * SIZE
    assert enforce(runs, round(2.5 * SIZE), nobody) == []


@pytest.mark.parametrize(("limit", "restorable"), [(2.5, []), (12.5, [2]), (25.0, [1, 2])])
def test_what_made_room_stays_in_the_trash_for_an_hour_where_there_is_room(runs, limit, restorable):
    """The trash may take a tenth of the limit more for an hour."""
    for day in (1, 2, 3):
        made(runs, day, size=round(SIZE * (limit - 0.3) if day == 3 else SIZE))
    assert len(enforce(runs, round(limit * SIZE), nobody)) == 2

    def in_trash():
        return sorted(json.loads((path / "run.json").read_text())["config"]["seed"] for path in runs.trash.runs())

    assert in_trash() == restorable
    for path in runs.trash.runs():
        os.utime(path, (time.time() - 3700,) * 2)
    enforce(runs, round(limit * SIZE), nobody)
    assert in_trash() == []


def test_a_run_comes_back_only_where_it_would_stay(runs):
    first, second = made(runs, 1), made(runs, 2)
    enforce(runs, round(1.95 * SIZE), nobody)
    with pytest.raises(UserError, match=r"no room for this run of .*Delete one of them first"):
        check_room(runs, first.id, round(1.95 * SIZE))
    runs.delete(second.id)
    check_room(runs, first.id, round(1.95 * SIZE))


BEYOND, TEMPORARY, KEPT = Rank


@pytest.mark.parametrize(
    ("ranks", "under_way", "gone"),
    [
        ([KEPT, KEPT, BEYOND], [], [3]),
        ([KEPT, TEMPORARY, BEYOND], [], [3]),
        ([KEPT, TEMPORARY, TEMPORARY], [], [2]),
        ([KEPT, KEPT, BEYOND], [3], []),
        ([KEPT, TEMPORARY, BEYOND], [3], []),
        ([KEPT, BEYOND, BEYOND], [3], [2]),
        ([KEPT, KEPT, TEMPORARY], [3], []),
        ([KEPT, KEPT, KEPT], [3], []),
        ([TEMPORARY, KEPT, KEPT], [1], []),
    ],
)
def test_whoever_exceeds_their_room_pays_first_and_none_for_a_run_under_way(runs, ranks, under_way, gone):
    """Each of three runs takes 1, of a limit of 2.5."""
    made_runs = [made(runs, day) for day in (1, 2, 3)]
    by_id = {run.id: rank for run, rank in zip(made_runs, ranks, strict=True)}
    with contextlib.ExitStack() as stack:
        for day in under_way:
            (made_runs[day - 1].path / "events.jsonl").write_text("")
            stack.enter_context(RecordWriter(made_runs[day - 1]))
        evicted = enforce(runs, round(2.5 * SIZE), nobody, by_id.__getitem__)
    assert [run.config.seed for run in evicted] == gone


def test_what_is_pinned_shown_or_training_stays(runs):
    pinned, shown, training = made(runs, 1), made(runs, 2), made(runs, 3)
    runs.pin(pinned.id)
    made(runs, 4)
    (training.path / "events.jsonl").write_text("")
    with RecordWriter(training):
        enforce(runs, 1, lambda run: run == shown.id)
        assert days(runs) == [1, 2, 3]
    runs.pin(pinned.id, False)
    enforce(runs, 1, nobody)
    assert days(runs) == []


def test_deleted_runs_go_before_any_other(runs):
    made(runs, 1)
    deleted = made(runs, 2)
    runs.delete(deleted.id)
    assert total_size(runs) > 2 * SIZE
    assert enforce(runs, round(1.5 * SIZE), nobody) == []
    assert days(runs) == [1]
    with pytest.raises(UserError, match="no longer be restored"):
        runs.restore(deleted.id)


def test_the_size_of_a_run_follows_what_is_added(runs):
    run = made(runs, 1)
    before = run_size(run.path)
    assert SIZE <= before < SIZE + 3000
    folder = run.path / "projections" / ("0" * 16)
    folder.mkdir(parents=True)
    (folder / "projection.json").write_text("{}")
    (folder / "coordinates.npy").write_bytes(bytes(500))
    assert run_size(run.path) == before + 502


def test_tags_are_kept_tidy(runs):
    run = made(runs, 1)
    runs.tag(run.id, ["  for the\tlesson ", "", "best", "best", "x" * 99])
    assert runs.get(run.id).tags == ["for the lesson", "best", "x" * 30]
    runs.rename(run.id, "Other")
    assert runs.get(run.id).tags == ["for the lesson", "best", "x" * 30]
    runs.tag(run.id, [])
    assert runs.get(run.id).tags == []


def test_the_limit_is_what_is_given_or_the_environments_or_five_gigabytes(monkeypatch):
    monkeypatch.delenv("DMLVIZ_DISK_LIMIT", raising=False)
    assert parse_limit() == 5_000_000_000
    monkeypatch.setenv("DMLVIZ_DISK_LIMIT", "0.5")
    assert parse_limit() == 500_000_000
    assert parse_limit(2) == 2_000_000_000
    for wrong in ("0", "-1", "much", "inf", "nan"):
        monkeypatch.setenv("DMLVIZ_DISK_LIMIT", wrong)
        with pytest.raises(UserError, match="disk limit"):
            parse_limit()


@pytest.mark.parametrize(
    ("size", "told"), [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (999_500, "1.0 MB"), (1.24e9, "1.2 GB")]
)
def test_sizes_are_told_in_the_unit_that_fits(size, told):
    assert format_bytes(size) == told


TEST_IMAGES = 596  # of the digits
QUICK = TrainConfig(dataset="digits", net="mlp", steps=20, num_snapshots=20, eval_subset_size=300)
REST = 4_000_000  # bytes of weights, checkpoints, batches, log


def trained(folder, config, room=None):
    run = Runs(folder).create(config)
    list(train_and_record(run, room=room, save_checkpoints=False))
    return run


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"embedding_dim": 512}, {"embedding_dim": 2, "eval_subset_size": 10_000}])
def test_a_run_takes_what_was_estimated_and_a_few_megabytes(tmp_path, settings):
    config = QUICK.replace(**settings)
    size = folder_size(trained(tmp_path, config).path)
    assert (
        0.8 * estimate_size(config, TEST_IMAGES).total <= size <= 1.02 * estimate_size(config, TEST_IMAGES).total + REST
    )
    assert estimate_size(config, TEST_IMAGES).total <= estimate_size(config.replace(eval_subset_size=10_000)).total


@pytest.mark.slow
def test_a_training_stops_in_order_before_its_run_takes_more_than_it_may(tmp_path):
    config = QUICK.replace(embedding_dim=1024)
    room = 16_000_000
    run = trained(tmp_path, config, room)
    assert run.state == "stopped"
    assert run.end["reason"].startswith(f"stopped after {len(run.snapshot_steps)} snapshots: the run may take 16 MB")
    assert 5 <= len(run.snapshot_steps) < 20
    assert folder_size(run.path) <= room
    assert run.embeddings.shape == (len(run.labels), 1024)
    assert trained(tmp_path / "other", config, 10 * room).state == "finished"


@pytest.mark.parametrize(
    "settings", [{"num_snapshots": 1000, "embedding_dim": 1024}, {"embedding_dim": 4096, "num_snapshots": 3}]
)
@pytest.mark.parametrize("room", [200_000_000, 40_000_000, 1_000_000])
def test_what_is_refused_names_settings_that_fit(settings, room):
    config = QUICK.replace(dataset="mnist", steps=1000, eval_subset_size=10_000, **settings)
    with pytest.raises(UserError, match="This run would take about") as refused:
        estimate_size(config, 10_000).check(room, "You may still take")
    lower = {
        name: int(value.replace(",", "")) for name, value in re.findall(r"\((\w+)\) to ([\d,]+)", str(refused.value))
    }
    assert lower, refused.value
    estimate_size(config.replace(**lower), 10_000).check(room, "You may still take")
