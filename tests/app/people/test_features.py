"""Pretrained backbones on a server that people share: whose the features are, and what one may use."""

import io
import os
import time
from dataclasses import replace

import numpy as np
import pytest
from dmlviz_app.explore import backbone_state as backbone
from dmlviz_app.explore.backbone_state import BackboneChoice
from dmlviz_app.forms.training_settings import TrainingDraft
from dmlviz_app.people.people import GUEST_RETENTION_S, MB
from dmlviz_app.server import services
from dmlviz_app.server.feature_jobs import TAKEN
from dmlviz_app.server.housekeeping import clean_up

from dmlviz import data
from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_spec import Features
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data.backbone_weights import weights_file
from dmlviz.errors import UserError
from dmlviz.jobs.job_record import ORDER_FILE, JobRecord
from dmlviz.runs.record_writer import RecordWriter

MADE = "custom-00000000fea75e75"
WEIGHTS = "00112233445566aa"


@pytest.fixture(autouse=True)
def queued(shared, monkeypatch):
    """No worker is started; this holds what one would get: who asked, the record, what is called at the end."""
    asked = []
    monkeypatch.setattr(
        shared.scheduler, "submit", lambda order, owner, on_end: asked.append((owner, order.begin(), on_end))
    )
    return asked


def choice(dataset="digits", **more):
    return BackboneChoice(**{"dataset": dataset, "backbone": "resnet18", "source": "upload"} | more)


def upload(someone, size=10):
    """The choice of a file that this person has sent."""
    someone.here.features.keep_upload(someone.here.person, "my resnet.pth", io.BytesIO(bytes(size)))
    return choice(title=" My   title ")


def finish(shared, queued, temporary_name=MADE):
    """What a worker does for the last one who asked, and what follows."""
    _, record, on_end = queued[-1]
    digits = DATASETS["digits"]
    features = Features(backbone="resnet18", weights=WEIGHTS, dimensions=512, mean=0, std=1)
    spec = replace(digits, name=temporary_name, title="Digits, ResNet-18", features=features)
    arrays = {f"{part}_images": np.zeros((2, 8, 8), np.uint8) for part in custom_datasets.PARTS}
    labels = {f"{part}_labels": np.arange(2) for part in custom_datasets.PARTS}
    vectors = {f"{part}_features": np.zeros((2, 512), np.float16) for part in custom_datasets.PARTS}
    weights = weights_file(shared.data, "resnet18", WEIGHTS)
    weights.write_bytes(bytes(3 * MB))
    custom_datasets.save(shared.data, temporary_name, spec.to_dict(), arrays | labels | vectors)
    with RecordWriter(record) as writer:
        writer.event({"event": "finished", "dataset": temporary_name})
    on_end()


def test_the_features_are_theirs_who_asked_and_are_selected_once(shared, people, ada, bob, queued):
    backbone.start(ada.here, upload(ada))
    owner, record, _ = queued[-1]
    assert owner == ada.id
    assert record.order | {"weights": ""} == {
        "kind": "features",
        "dataset": "digits",
        "backbone": "resnet18",
        "weights": "",
        "title": "My title",
        "holder": ada.id,
        "holder_name": ada.here.person.name,
        "temporary": False,
        "room": 10**9,
    }
    assert record.order["weights"].endswith("/uploaded/my_resnet.pth")
    assert bob.here.features.status(bob.here.person) is None
    finish(shared, queued)
    assert ada.here.datasets.may_train_on(MADE)  # also where she never comes back to the page
    assert not bob.here.datasets.may_train_on(MADE)
    assert backbone.known_weights(ada.here, "resnet18") == {WEIGHTS: "Digits, ResNet-18 (001122)"}
    assert backbone.sources(ada.here, "resnet18") == ["kept", "download", "upload"]
    assert backbone.known_weights(bob.here, "resnet18") == {}
    with pytest.raises(UserError, match="cannot come from there"):
        backbone.start(bob.here, choice(source="kept", kept=WEIGHTS))
    assert backbone.take_finished(TrainingDraft(), bob.here, "digits") == ""
    draft, after_a_reload, later = TrainingDraft(), TrainingDraft(), TrainingDraft()
    assert backbone.take_finished(draft, ada.here, "mnist") == ""  # where she works on something else
    assert backbone.progress_text(ada.here.features.status(ada.here.person)) == "Ready"
    taken = backbone.take_finished(draft, ada.here, "digits")
    assert draft.config("digits").dataset == MADE
    assert draft.config("digits").net == "linear"
    draft.set("dataset", "digits")
    assert backbone.take_finished(draft, ada.here, "digits", taken) == taken
    assert draft.config("mnist").dataset == "digits"
    assert backbone.take_finished(after_a_reload, ada.here, "digits") == taken  # the page that took it may be gone
    assert after_a_reload.config("digits").dataset == MADE
    assert ada.here.features.status(ada.here.person) is None
    os.utime(record.path / TAKEN, (0, 0))
    assert backbone.take_finished(later, ada.here, "digits") == ""
    assert later.settings == {}
    assert not record.path.exists()


def test_weights_uploads_and_unfinished_features_take_the_space_of_who_asked(shared, people, ada, bob, queued):
    before = ada.here.used()
    backbone.start(ada.here, upload(ada, 2 * MB))
    assert 2 * MB <= ada.here.used() - before < 2.1 * MB
    assert bob.here.used() == 0
    finish(shared, queued)
    backbone.take_finished(TrainingDraft(), ada.here, None)
    assert 3 * MB <= ada.here.used() - before < 3.1 * MB  # the weights are kept with the data set


def test_nobody_computes_with_what_they_may_not_have(shared, people, ada, bob, adas_data, queued, tmp_path):
    with pytest.raises(UserError, match="not yours"):
        backbone.start(bob.here, choice(adas_data, source="download"))
    file = tmp_path / "weights.pth"
    file.write_bytes(b"x")
    with pytest.raises(UserError, match="cannot come from there"):
        backbone.start(bob.here, choice(source="path", path=str(file)))
    with pytest.raises(UserError, match="Choose the file"):
        backbone.start(bob.here, choice())
    assert queued == []


def test_weights_stay_while_a_computation_needs_them(ada, queued):
    backbone.start(ada.here, upload(ada))
    with RecordWriter(JobRecord(queued[0][1].path)) as writer:
        writer.event({"event": "started"})
        writer.event({"event": "progress", "done": 16, "of": 1797, "left": None})
        writer.event({"event": "stopped", "reason": ""})
    with pytest.raises(UserError, match="needs its weights"):
        upload(ada)
    ada.here.features.discard(ada.here.person)
    upload(ada)
    assert backbone.reusable_upload(ada.here, "resnet18").name == "my_resnet.pth"


def test_limits_hold_for_backbones_as_for_uploads_and_trainings(limit_members, ada, queued):
    limit_members(disk_gb=0.00100005, jobs=1, upload_mb=1)
    backbone.start(ada.here, upload(ada, MB))
    with pytest.raises(UserError, match="delete some"):
        backbone.go_on(ada.here)
    limit_members(disk_gb=0.005, jobs=0, upload_mb=1)
    with pytest.raises(UserError, match="not start jobs"):
        backbone.go_on(ada.here)
    assert len(queued) == 1
    limit_members(disk_gb=0.005, jobs=1, upload_mb=1)
    backbone.go_on(ada.here)
    backbone.start(ada.here, choice())  # with the file that was uploaded before
    assert [record.order["weights"] for _, record, _ in queued] == 3 * [queued[0][1].order["weights"]]


def test_what_is_left_behind_is_deleted_after_a_day(shared, people, ada, bob, queued):
    for person in (ada, people["guest"]):
        backbone.start(person.here, upload(person))
    kept, left = (record for _, record, _ in queued)
    shared.features.expire()
    assert left.path.exists()
    long_ago = time.time() - GUEST_RETENTION_S - 10
    for record in (kept, left):
        os.utime(record.path / ORDER_FILE, (long_ago, long_ago))
    upload(bob)  # and computes nothing with it
    unused = shared.features.last_upload(bob.here.person).parent
    os.utime(unused, (long_ago, long_ago))
    shared.features.expire()
    assert kept.path.exists()
    assert not left.path.exists()
    assert not unused.exists()


def test_the_server_deletes_weights_and_unfinished_features_that_nobody_needs(shared, ada, queued):
    backbone.start(ada.here, upload(ada))
    finish(shared, queued)
    needed = weights_file(shared.data, "resnet18", WEIGHTS)
    unneeded, unfinished = needed.with_stem("resnet18-ff112233445566aa"), needed.with_name(".custom-00000000fea75e75")
    unneeded.touch()
    unfinished.mkdir()
    for path in (needed, unneeded, unfinished):
        os.utime(path, (0, 0))
    clean_up(shared)
    assert [path.exists() for path in (needed, unneeded, unfinished)] == [True, False, False]


def test_a_computation_outlasts_the_server_and_says_where_it_stopped(shared, people, ada, queued):
    backbone.start(ada.here, upload(ada))
    with RecordWriter(JobRecord(queued[0][1].path)) as writer:
        writer.event({"event": "started"})
        writer.event({"event": "progress", "done": 32, "of": 1797, "left": 120.0})
        status = ada.here.features.status(ada.here.person)
        assert status.phase == "running"
        assert backbone.progress_text(status) == "32 of 1,797 images, 2 min left"
        assert backbone.heading(status) == "ResNet-18 on Digits 8 × 8"
    again = services.start_services(shared.settings, warm=False)  # as after a crash
    status = again.features.status(ada.here.person)
    assert (status.phase, status.done, status.images) == ("interrupted", 32, 1797)
    assert backbone.progress_text(status) == "Stopped at 32 of 1,797 images"
    again.features.discard(ada.here.person)
    assert again.features.status(ada.here.person) is None


def test_data_sets_on_disk_are_images_for_a_backbone_and_features_are_not(shared, people, ada, queued):
    backbone.start(ada.here, upload(ada))
    finish(shared, queued)
    assert backbone.takes_backbone("digits")
    assert not backbone.takes_backbone(MADE)
    assert data.load(MADE, shared.data).train.features.shape == (2, 512)


def test_a_computation_that_failed_says_why_and_offers_to_go_on_with_what_was_chosen(shared, people, ada, queued):
    backbone.start(ada.here, upload(ada))
    with RecordWriter(JobRecord(queued[0][1].path)) as writer:
        writer.event({"event": "started"})
        writer.event({"event": "progress", "done": 16, "of": 1797, "left": None})
        writer.event({"event": "failed", "reason": "The worker was killed."})
    status = ada.here.features.status(ada.here.person)
    assert (status.phase, status.done, status.reason) == ("failed", 16, "The worker was killed.")
    assert backbone.progress_text(status) == "Failed at 16 of 1,797 images"
    assert backbone.last_choice(ada.here) == choice(title="My title")
    backbone.go_on(ada.here)
    assert queued[1][1].order == queued[0][1].order
    finish(shared, queued)
    assert backbone.put_aside(ada.here)
    assert ada.here.features.status(ada.here.person) is None
    backbone.start(ada.here, choice(source="kept", kept=WEIGHTS))
    assert backbone.last_choice(ada.here) == choice(source="kept", kept=WEIGHTS)
