"""What a person has of a server that several share: their own entries, their limits, what others share with them."""

import shutil
import tempfile
import time
from dataclasses import replace
from unittest.mock import create_autospec

import pytest
from dmlviz_app.people.people import DEFAULT_LIMITS, MB
from dmlviz_app.people.policy import Role
from dmlviz_app.runs import state as run_list
from dmlviz_app.runs.routes import check_images, import_archive
from dmlviz_app.runs.state import queue_lines
from dmlviz_app.server.housekeeping import clean_up, enforce_quota, evicted_runs
from dmlviz_app.server.services import TRAINING_PAGES
from dmlviz_app.server.work_routes import work_status
from dmlviz_app.workbench.progress_panel import waits_for
from starlette.requests import HTTPConnection

from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError
from dmlviz.export import RunExport
from dmlviz.jobs.job import Job, Status
from dmlviz.jobs.job_record import JobRecord
from dmlviz.jobs.order import JOBS, training
from dmlviz.jobs.placement import JobWorker
from dmlviz.runs.archive import export_run
from dmlviz.runs.gallery import Gallery
from dmlviz.runs.quota import folder_size, run_size
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.runs.thresholds import keep_threshold, kept_threshold
from dmlviz.storage.files import write_json
from dmlviz.studies.study import create_study, study_id
from dmlviz.workers import questions

LIMITS = DEFAULT_LIMITS[Role.GUEST]
CONFIG = TrainConfig(dataset="digits", net="mlp", embedding_dim=2, steps=30, eval_subset_size=200, seed=5)


@pytest.fixture
def no_worker(shared, monkeypatch):
    """Jobs wait in the queue: no process is started."""
    monkeypatch.setattr(shared.scheduler.dispatcher, "dispatch", lambda: None)


def ids(someone):
    return [run.id for run in someone.here.runs.list() if not someone.here.runs.is_bundled(run)]


def test_each_sees_what_is_theirs(ada, bob, people, adas_run):
    assert ids(ada) == [adas_run]
    assert ids(bob) == ids(people["teacher"]) == []
    with pytest.raises(RunNotFoundError) as refused:
        bob.here.runs.get(adas_run)
    with pytest.raises(RunNotFoundError) as absent:
        bob.here.runs.get("f" * 16)
    assert str(refused.value).replace(adas_run, "f" * 16) == str(absent.value)
    assert len(bob.here.runs.list()) >= 2, "ready-made runs are everybody's"


def test_equal_settings_are_one_run_with_an_entry_each(ada, bob, adas_run, shared):
    ada.here.runs.rename(adas_run, "Ada's secret")
    assert bob.here.jobs.train(shared.store.get(adas_run).config) == adas_run
    assert bob.here.runs.get(adas_run).title == "Digits 8 × 8, NT-Xent"
    bob.here.runs.tag(adas_run, ["mine"])
    assert ada.here.runs.get(adas_run).tags == []
    ada.here.runs.delete(adas_run)
    assert ids(ada) == []
    assert ids(bob) == [adas_run]
    ada.here.runs.restore(adas_run)
    assert ada.here.runs.get(adas_run).title == "Ada's secret"
    for someone in (ada, bob):
        someone.here.runs.delete(adas_run)
    assert not (shared.store.folder / adas_run).exists()
    with pytest.raises(RunNotFoundError):
        bob.here.runs.get(adas_run)
    bob.here.runs.restore(adas_run)
    assert ids(bob) == [adas_run]
    assert ids(ada) == []


@pytest.mark.parametrize("change", ["rename", "tag", "pin", "delete", "share", "restore"])
def test_only_the_owner_or_an_admin_changes_a_run(ada, bob, people, adas_run, shared, change):
    value = {"rename": "New", "tag": ["new"], "pin": True, "share": "link"}.get(change)

    def attempt(someone):
        method = getattr(someone.here.runs, change)
        return method(adas_run) if value is None else method(adas_run, value)

    if change == "restore":
        ada.here.runs.delete(adas_run)
    else:
        people["teacher"].here.runs.owners.share(adas_run, ada.id, "public")  # whoever sees it may not change it either
    before = shared.run_owners.all_entries(adas_run)
    for stranger in (bob, people["teacher"], people["guest"]):
        with pytest.raises(UserError):
            attempt(stranger)
    assert shared.run_owners.all_entries(adas_run) == before
    attempt(people["admin"])
    assert shared.run_owners.all_entries(adas_run) != before


def test_a_person_stops_only_their_own_wish(ada, bob, people, shared, no_worker):
    run = ada.here.jobs.train(CONFIG)
    assert bob.here.jobs.train(CONFIG) == run
    record = shared.store.get(run)
    assert shared.scheduler.owners_of(record) == (ada.id, bob.id)
    with pytest.raises(RunNotFoundError):
        people["guest"].here.runs.get(run)
    assert people["guest"].here.jobs.stop(record) is False
    assert ada.here.jobs.stop(record) is False
    assert shared.scheduler.owners_of(record) == (bob.id,)
    assert people["admin"].here.jobs.stop(record) is True


def test_only_the_owner_or_an_admin_stops_a_study_or_begins_it_anew(ada, bob, people, shared):
    path = shared.study_runner.folder / study_id("margins", "quick", "digits")
    study = create_study(path, "margins", "quick", "digits", owner=ada.id)
    for stranger in (bob, people["teacher"]):
        with pytest.raises(UserError, match="Another person began this study"):
            stranger.here.studies.stop(study)
        with pytest.raises(UserError, match="Another person began this study"):
            stranger.here.studies.start("margins", "quick", "digits", afresh=True)
    assert ada.here.studies.may_stop(study)
    people["admin"].here.studies.stop(study)
    assert study.is_stop_requested


def test_a_teacher_sees_the_queue_but_no_private_titles(ada, people, shared, no_worker):
    run = ada.here.jobs.train(CONFIG)
    ada.here.runs.rename(run, "Ada's secret")
    shared.names[ada.id] = "Ada"
    (line,) = queue_lines(people["teacher"].here)
    assert "Ada |" in line
    assert "secret" not in line
    assert "A private run" in line
    (line,) = queue_lines(people["admin"].here)
    assert "Ada's secret" in line


def test_who_waits_is_told_for_which_of_their_jobs_and_of_others_no_title(ada, bob, shared, no_worker):
    run = ada.here.jobs.train(CONFIG)
    ada.here.runs.rename(run, "Ada's secret")
    turns = shared.scheduler.turns
    (job,) = turns
    job.worker = worker = create_autospec(JobWorker)
    turns.start(job, worker)
    told = [waits_for(one, someone.here) for someone in (ada, bob) for one in someone.here.jobs.blocking(JOBS)]
    assert [(of["title"], of["run"]) for of in told] == [("Ada's secret", run), ("another person's job", "")]
    other_browser = replace(bob.here.person, role=Role.SOLE)
    assert waits_for(job, shared.for_person(other_browser))["run"] == run, "there is no other person"


def test_work_is_seen_by_who_asked_for_it_and_who_sees_its_run(ada, bob, people, shared, no_worker):
    run = ada.here.jobs.train(CONFIG)
    (job,) = shared.scheduler.turns
    assert work_status(ada.here, job.order.id)["position"] == 1
    assert work_status(people["admin"].here, job.order.id)["kind"] == "train"
    with pytest.raises(UserError, match="There is no work"):
        work_status(bob.here, job.order.id)
    ada.here.jobs.stop(ada.here.runs.get(run))
    assert work_status(ada.here, job.order.id)["phase"] == "stopped"
    with pytest.raises(UserError, match="There is no work"):
        work_status(bob.here, job.order.id)


def test_the_limits_are_said_in_a_sentence_each(people, shared, no_worker, adas_data):
    guest, bob = people["guest"].here, people["bob"].here
    for seed in (1, 2):
        guest.jobs.train(CONFIG.replace(seed=seed))
    with pytest.raises(UserError, match="2 of the 2 jobs"):
        guest.jobs.train(CONFIG.replace(seed=3))
    assert guest.jobs.train(CONFIG.replace(seed=2)), "one that waits already is no further one"
    with pytest.raises(UserError, match="not yours"):
        bob.jobs.train(CONFIG.replace(dataset=adas_data))
    with pytest.raises(UserError, match="20 MB at a time"):
        guest.check_upload(21 * MB)


def test_what_the_file_says_of_limits_counts_at_once_where_they_are_checked(people, ada, adas_run, limit_members):
    ada.here.check_room()
    ada.here.check_upload(2 * MB)
    limit_members(disk_gb=0, jobs=0, upload_mb=1)
    with pytest.raises(UserError, match="You may upload"):
        ada.here.check_upload(2 * MB)
    limit_members(disk_gb=1e-9, jobs=1)
    for refused in (ada.here.check_room, lambda: ada.here.check_upload(5), lambda: ada.here.jobs.train(CONFIG)):
        with pytest.raises(UserError, match="that you may have; delete some"):
            refused()
    limit_members(jobs=0)
    with pytest.raises(UserError, match="not start jobs"):
        ada.here.jobs.train(CONFIG.replace(steps=5))
    assert people["guest"].here.person.limits == LIMITS


def test_studies_count_where_runs_and_trainings_do(shared, people, ada, limit_members, monkeypatch):
    study = create_study(
        shared.study_runner.folder / "margins-quick-digits", "margins", "quick", "digits", owner=ada.here.person.id
    )
    (study.path / "points.npz").write_bytes(bytes(3 * MB))
    assert 3 * MB <= ada.here.used() < 4 * MB
    limit_members(disk_gb=0.002, jobs=1)
    with pytest.raises(UserError, match=r"studies take 3\.0 MB of the 2\.0 MB"):
        ada.here.studies.start("margins", "quick", "digits")
    limit_members(jobs=1)
    job = Job(training(shared.store, TrainConfig()), record=None, owners=[])
    monkeypatch.setattr(shared.scheduler, "running_for", lambda owner=None: [(job, Status("running"))])
    with pytest.raises(UserError, match="1 of the 1 jobs"):
        ada.here.studies.start("margins", "quick", "digits")
    assert people["bob"].here.used() == 0


def test_a_browser_without_cookie_looks_but_starts_nothing(shared, adas_run, ada, app, people):
    people["teacher"].here.runs.owners.share(adas_run, ada.id, "public")
    nobody = shared.for_person(shared.identity.of_request(HTTPConnection({"type": "http", "headers": []})))
    assert nobody.runs.get(adas_run)
    with pytest.raises(UserError, match="allow cookies"):
        nobody.jobs.train(CONFIG)
    with pytest.raises(UserError, match="allow cookies"):
        nobody.studies.start("margins", "quick", "digits")
    with pytest.raises(UserError, match="allow cookies"):
        nobody.check_upload(1)


def test_a_guest_s_corner_empties_itself(people, shared, written, monkeypatch):
    guest, ada = people["guest"], people["ada"]
    shutil.copytree(written.path, shared.store.folder / written.id)
    guest.here.runs.hold(written.id)
    enforce_quota(shared)
    assert ids(guest) == [written.id]
    entry = shared.run_owners.entry(written.id, guest.id)
    later = time.time() + 25 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    ada.here.runs.hold(written.id)
    page = shared.cache / TRAINING_PAGES / "0.1.0" / written.id
    page.mkdir(parents=True)
    clean_up(shared)
    assert not page.exists()
    assert entry.temporary
    assert (ids(guest), ids(ada)) == ([], [written.id]), "what somebody else holds too stays for them"


def test_what_made_room_can_be_restored_by_who_held_it_and_by_no_one_else(ada, bob, adas_run, shared):
    ada.here.runs.rename(adas_run, "Ada's secret")
    size = run_size(shared.store.folder / adas_run)
    enforce_quota(replace(shared, settings=shared.settings.replace(disk_limit=0.95 * size / 1e9)))
    [gone] = evicted_runs(ada.here)
    assert gone["title"].startswith("Ada's secret of 20")
    assert not gone["lost"]
    assert evicted_runs(bob.here) == []
    with pytest.raises(RunNotFoundError):
        bob.here.runs.restore(adas_run)
    ada.here.runs.restore(adas_run)
    assert ada.here.runs.get(adas_run).title == "Ada's secret"
    assert evicted_runs(ada.here) == []
    enforce_quota(replace(shared, settings=shared.settings.replace(disk_limit=0.5 * size / 1e9)))
    [gone] = evicted_runs(ada.here)  # the trash takes a tenth of the limit more
    assert gone["lost"]
    with pytest.raises(UserError, match="no longer be restored"):
        ada.here.runs.restore(adas_run)


def test_a_guest_beyond_their_room_takes_no_member_s_run(ada, people, adas_run, shared, written):
    guest = people["guest"]
    folder = shared.store.folder / ("f" * 16)
    shutil.copytree(written.path, folder)
    write_json(folder / "run.json", written.info | {"id": folder.name})
    guest.here.runs.hold(folder.name)
    with open(folder / "large", "wb") as file:
        file.truncate(guest.here.person.limits.disk + 1)
    enforce_quota(replace(shared, settings=shared.settings.replace(disk_limit=0.1)))
    assert (ids(guest), ids(ada)) == ([], [adas_run])


@pytest.mark.slow
def test_an_imported_run_is_not_given_to_others_as_if_it_had_been_trained(ada, bob, shared, written, no_worker):
    with tempfile.TemporaryFile() as file:
        export_run(written, file)
        run = import_archive(ada.here, file)
        assert run.id != written.id
        assert ids(ada) == [run.id]
        assert bob.here.jobs.train(written.config) == written.id
        assert shared.scheduler.status(shared.store.get(written.id)).phase == "queued", "his is trained"
        with pytest.raises(UserError, match="already imported"):
            import_archive(ada.here, file)
        assert import_archive(bob.here, file).id not in (run.id, written.id)


def test_an_archive_opens_nobody_s_images(ada, bob, adas_data):
    """A forged one could name them as its data set, and its page would show them."""
    config = CONFIG.replace(dataset=adas_data)
    check_images(ada.here, config)
    with pytest.raises(UserError, match="images that you do not have"):
        check_images(bob.here, config)


def test_whoever_sees_a_run_sees_its_images_but_trains_on_them_only_if_a_teacher_shares_them(people, shared, adas_data):
    ada, bob, teacher = (people[name] for name in ("ada", "bob", "teacher"))
    assert adas_data in ada.here.datasets.available()
    assert adas_data not in bob.here.datasets.available()
    assert adas_data not in bob.here.datasets.trainable()
    teacher.here.datasets.hold(adas_data)
    shared.data_owners.share(adas_data, teacher.id, "public")
    assert adas_data in bob.here.datasets.trainable()


def test_a_copy_of_a_ready_made_run_stays_everybody_s(ada, bob, shared):
    bundled = next(run for run in ada.here.runs.list() if ada.here.runs.is_bundled(run))
    shared.store.writable_copy(bundled)
    assert bob.here.runs.get(bundled.id).path.parent == shared.store.folder
    with pytest.raises(UserError, match="Only its owner"):
        bob.here.runs.delete(bundled.id)


@pytest.fixture
def trained(shared, monkeypatch):
    """The folder of a run with a net; what its worker does is done in this process."""

    def call(question, **_):
        return questions.answer(dict(question), shared.data)

    monkeypatch.setattr(shared.scheduler.inference_worker, "call", call)
    ready = next(run.id for run in shared.store.list() if not run.info.get("fails"))
    run = shared.store.writable_copy(shared.store.get(ready))
    trained = shared.store.folder / "0123456789abcdef"
    run.path.rename(trained)
    write_json(trained / "run.json", run.info | {"id": trained.name})
    return trained


def test_each_has_a_gallery_of_their_own_and_sees_that_of_who_shares_the_run(ada, bob, people, trained, shared):
    def names(someone, method="GET", path=".json", **request):
        answer = someone.client.request(method, f"/dmlviz/runs/{trained.name}/gallery{path}", **request).json()
        return [(name, is_mine) for _, name, is_mine in answer["pictures"]] if "pictures" in answer else answer["error"]

    def keep(someone, name):
        return names(someone, "POST", "", params={"name": name}, json={"sample": "seven"})

    for holder in (ada, bob):  # who trained with equal settings
        shared.run_owners.add(trained.name, holder=holder.id, name="", title="Mine")
    assert keep(ada, "ada's") == [("ada's", True)]
    assert keep(bob, "bob's") == [("bob's", True)]
    guest, teacher = people["guest"], people["teacher"]
    assert "There is no run" in names(guest)
    ada.here.runs.owners.share(trained.name, ada.id, "public")
    assert names(guest) == [("ada's", False)]
    assert "A guest keeps pictures with runs of their own" in keep(guest, "mine")
    assert keep(teacher, "teacher's") == [("ada's", False), ("teacher's", True)]
    assert names(ada) == [("ada's", True)]
    [picture] = [one for one in Gallery(Run(trained)).pictures() if one.name == "ada's"]
    assert "kept by somebody else" in names(teacher, "DELETE", f"/{picture.id}")
    assert "kept by somebody else" in names(bob, "DELETE", f"/{picture.id}")
    assert teacher.client.get(f"/dmlviz/runs/{trained.name}/gallery/{picture.id}.png").status_code == 200
    assert bob.client.get(f"/dmlviz/runs/{trained.name}/gallery/{picture.id}.png").status_code == 404
    assert names(ada, "DELETE", f"/{picture.id}") == []


def test_each_has_a_threshold_of_their_own_or_that_of_who_shares_the_run(ada, bob, people, trained, shared):
    address, guest, teacher = f"/dmlviz/runs/{trained.name}", people["guest"], people["teacher"]

    def asked(someone, **question):
        return someone.client.request("POST" if question else "GET", f"{address}/threshold", json=question).json()

    def rate(someone):
        return (asked(someone) or {}).get("rate")

    def is_unknown(someone):
        return "farther than the threshold" in someone.client.post(f"{address}/query", json={"sample": "seven"}).text

    for holder in (ada, bob):  # who trained with equal settings
        shared.run_owners.add(trained.name, holder=holder.id, name="", title="Mine")
    assert "Answers to queries rest on it" in asked(ada, rate=0.001)["sentence"]
    assert asked(bob, rate=0.999)["rate"] == rate(bob) == 0.999
    keep_threshold(Run(trained), replace(kept_threshold(Run(trained), [ada.id]), value=0.0), ada.id)
    assert (rate(ada), is_unknown(ada), is_unknown(bob)) == (0.001, True, False)
    assert "no run" in asked(guest, rate=0.1)["error"]
    ada.here.runs.owners.share(trained.name, ada.id, "public")
    assert (rate(guest), rate(teacher), is_unknown(guest)) == (0.001, 0.001, True)
    assert "It is not kept: a guest" in asked(guest, rate=0.1)["sentence"]
    asked(teacher, rate=0.1)
    assert [rate(one) for one in (ada, bob, guest, teacher)] == [0.001, 0.999, 0.001, 0.1]
    asked(teacher, rate=None)
    asked(guest, rate=None)
    assert [rate(one) for one in (ada, bob, guest, teacher)] == [0.001, 0.999, 0.001, 0.001]
    exported = [
        RunExport(Run(trained), holders=one.here.runs.gallery_holders(trained.name)) for one in (ada, bob, teacher)
    ]
    assert [kept_threshold(one.run, one.holders).rate for one in exported] == [0.001, 0.999, 0.001]
    assert kept_threshold(Run(trained)) is None, "nobody's, for the command line"
    asked(bob, rate=None)
    assert (rate(bob), rate(ada)) == (None, 0.001)


def test_a_projection_needs_a_run_that_one_sees(ada, bob, adas_run, no_worker):
    with pytest.raises(RunNotFoundError):
        bob.here.jobs.project(adas_run, ProjectionConfig(method="pca"))
    assert bob.here.jobs.status(adas_run) == Status("unknown", reason=bob.here.jobs.status(adas_run).reason)
    assert "no run" in bob.here.jobs.status(adas_run).reason


def test_a_projection_counts_for_who_asks_whoever_holds_the_run(ada, bob, people, adas_run, shared, no_worker):
    ada.here.runs.share(adas_run, "link")
    for someone in (bob, people["guest"]):
        someone.here.runs.open_link(adas_run, shared.run_owners.entry(adas_run, ada.id).key)
    before, config = ada.here.used(), ProjectionConfig(method="pca")
    bob.here.jobs.project(adas_run, config)
    asked = shared.store.get(adas_run).projection(config.id).path
    (asked / "coordinates.npy").write_bytes(bytes(10_000))
    assert bob.here.used() == folder_size(asked) > 10_000
    assert ada.here.used() == before
    small = replace(people["guest"].here, person=replace(people["guest"].here.person, limits=replace(LIMITS, disk=0)))
    with pytest.raises(UserError, match="delete some"):
        small.jobs.project(adas_run, ProjectionConfig(method="pca", dims=3))


def test_a_map_gives_way_to_the_same_with_other_settings_and_to_no_other(ada, adas_run, no_worker):
    """Eight presses of a key on a slider were eight maps, of which the fifth was refused."""
    for perplexity in range(20, 28):
        ada.here.jobs.project(adas_run, ProjectionConfig(method="tsne", params={"perplexity": perplexity}), instead="")
    ada.here.jobs.project(adas_run, ProjectionConfig(method="umap"), instead="")
    asked = [job.record.config for job, _ in ada.here.jobs.running_for()]
    assert [(one.method, one.params.get("perplexity")) for one in asked] == [("tsne", 27), ("umap", None)]


def test_a_training_too_large_for_its_person_is_refused_with_the_setting_to_lower(people, no_worker):
    guest = people["guest"].here
    large = CONFIG.replace(embedding_dim=1024, num_snapshots=1000, steps=1000)
    with pytest.raises(
        UserError, match=r"would take about .* You may still take .*: lower Snapshots \(num_snapshots\) to \d+"
    ):
        guest.jobs.train(large)
    fits = large.replace(num_snapshots=100)
    run = guest.jobs.train(fits)
    order = JobRecord(guest.store.folder / run).order
    assert 0 < order["room"] <= guest.person.limits.disk
    with pytest.raises(UserError, match="would take about"):  # the first will take most of it
        guest.jobs.train(fits.replace(seed=1, num_snapshots=200))


def test_the_runs_page_shows_whose_a_run_is(ada, bob, people, adas_run, shared):
    def card(someone):
        found = [card for card in run_list.cards(someone.here) if card["run"] == adas_run]
        return found[0] if found else None

    assert card(bob) is None
    assert card(people["admin"])["sharing"]["group"] == "others"
    ada.here.runs.share(adas_run, "link")
    assert card(ada)["sharing"]["key"]
    assert card(ada)["sharing"]["offered"] == ["private", "link"]
    bob.here.runs.open_link(adas_run, card(ada)["sharing"]["key"])
    seen = card(bob)
    assert (seen["sharing"]["group"], seen["read_only"], seen["sharing"]["key"]) == ("shared", True, "")
    assert seen["sharing"]["owner"].startswith("Visitor")
    bob.here.runs.delete(adas_run)
    assert card(bob) is None
    assert card(ada) is not None
    with pytest.raises(UserError, match="a member, and may not make runs and data public"):
        ada.here.runs.share(adas_run, "public")
    people["teacher"].here.runs.hold(adas_run)
    people["teacher"].here.runs.share(adas_run, "public")
    assert card(people["guest"])["sharing"]["group"] == "public"
