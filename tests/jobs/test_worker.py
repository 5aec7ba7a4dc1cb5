import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.jobs import fork_client
from dmlviz.jobs.job import Job
from dmlviz.jobs.order import features, training
from dmlviz.jobs.worker_process import exit_message
from dmlviz.process_setup import ONE_THREAD_ENV
from dmlviz.runs.store import Runs
from tests.waiting import until


@contextmanager
def worker(*arguments, errors=None):
    """A worker as the app has it."""
    with tempfile.TemporaryFile() as unread:
        process = fork_client.start([*map(str, arguments)], errors or unread)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def order(process, run):
    process.stdin.write(json.dumps({"folder": str(run.path), "data": None}).encode() + b"\n")
    process.stdin.flush()


def told(process):
    return json.loads(process.stdout.readline())


def ended(process):
    """How it ended, within two minutes."""
    until(lambda: process.poll() is not None)
    return process.poll()


USUAL = os.getpriority(os.PRIO_PROCESS, 0)
MODEST = max(10, USUAL)  # `nice ./test` is as modest


def niceness(process):
    """Niceness of the thread that works, which is the busiest one."""
    threads = []
    for stat in Path(f"/proc/{process.pid}/task").glob("*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:  # the thread has ended
            continue
        threads.append((int(fields[11]) + int(fields[12]), int(fields[16])))
    return max(threads, default=(0, None))[1]


def test_the_worker_command_needs_only_a_folder(runs, short):
    run = training(runs, short).begin()
    command = [sys.executable, "-m", "dmlviz.workers.job_worker", run.path]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    seen = set()
    with subprocess.Popen(command, text=True, env=os.environ | ONE_THREAD_ENV, **pipes) as process:
        while process.poll() is None:
            with suppress(FileNotFoundError, ProcessLookupError, ValueError):  # it has ended
                seen.add(niceness(process))
            time.sleep(0.05)
        said, errors = process.communicate()
    assert process.returncode == 0, errors
    assert json.loads(said) == {"done": True}
    assert run.state == "finished"
    assert len(run.embeddings) == len(load("digits").test)
    assert max(seen) == MODEST


def test_a_query_is_embedded_by_every_checkpoint(runs, short):
    from dmlviz.runs.embed import embed, trajectory_of

    run = training(runs, short).begin()
    with worker(run.path) as process:
        assert told(process) == {"done": True}
    item = int(run.tracked_indices[7])
    images = load("digits").test.images[[item]]
    went = trajectory_of(run, images)
    assert went["steps"] == run.checkpoint_steps
    assert len(went["steps"]) == 4
    for step, embedding, place in zip(went["steps"], went["embeddings"], went["places"], strict=True):
        assert np.allclose(embedding[0], run.snapshot(step)[7], atol=5e-3)  # both were kept in half precision
        assert np.allclose(place[0], run.linear_projection.project(np.float32(embedding))[0], atol=1e-5)
    assert np.allclose(embed(run, images)[0], run.embeddings[item], atol=1e-5)


def test_a_folder_without_a_job_is_one_sentence(tmp_path):
    with tempfile.TemporaryFile() as errors, worker(tmp_path, errors=errors) as process:
        assert ended(process) == 1
        errors.seek(0)
        said = errors.read().decode()
    assert "order.json cannot be read: it holds no order" in said
    assert "Traceback" not in said


def test_sigterm_ends_between_two_batches_with_every_test_image(runs, long):
    run = training(runs, long).begin()
    with worker(run.path) as process:
        until(lambda: run.snapshot_steps)
        until(lambda: niceness(process) == MODEST)
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == USUAL  # of the thread that does the rest after SIGTERM
        process.terminate()
        assert told(process) == {"stopping": True}
        assert told(process) == {"done": True}
        assert ended(process) == 0
    assert run.state == "stopped"
    assert [event["event"] for event in run.events()][-3:] == ["stopping", "replay", "stopped"]
    assert len(run.embeddings) == len(load("digits").test)
    assert not list(run.path.rglob("*.tmp"))


def test_a_waiting_worker_reports_ready_at_low_priority(runs, long):
    run = training(runs, long).begin()
    with worker("--wait") as process:
        assert told(process) == {"ready": True}
        order(process, run)
        until(lambda: run.snapshot_steps)
        until(lambda: niceness(process) == MODEST)
        assert run.events()[0]["event"] == "started"
        assert Path(f"/proc/{process.pid}/oom_score_adj").read_text().strip() == "500"
        assert runs.get(run.id).info["threads"] == 1


@pytest.mark.parametrize("mode", ["--wait", "--serve"])
def test_an_idle_worker_ends_with_its_parent(mode):
    with worker(mode) as process:
        told(process)
        process.stdin.close()
        ended(process)


def test_a_training_worker_ends_with_its_parent_and_leaves_a_readable_run(runs, long):
    run = training(runs, long).begin()
    with worker("--wait") as process:
        order(process, run)
        until(lambda: run.snapshot_steps)
        process.stdin.close()
        ended(process)
    assert run.state == "interrupted"
    assert run.events()[0]["event"] == "started"
    assert all(len(run.snapshot(step)) == 100 for step in run.snapshot_steps)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only Python itself can notice the end of the parent")
def test_a_worker_ends_with_its_parent_while_a_library_blocks_python():
    script = (
        "import ctypes\n"
        "from dmlviz.workers.job_worker import ParentChannel; from dmlviz.process_setup import exit_when_closed\n"
        "parent = ParentChannel(); exit_when_closed(0); parent.send(asleep=True)\n"
        "ctypes.PyDLL(None).sleep(600)"  # PyDLL: sleeps without letting another Python thread run
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert told(process) == {"asleep": True}
        time.sleep(0.2)
        process.stdin.close()
        assert ended(process) == -signal.SIGIO


def write_noise_as_mnist(root, count):
    """MNIST's four files with noise in them."""
    raw, random = root / "MNIST/raw", np.random.default_rng(0)
    raw.mkdir(parents=True)
    for part in ("train", "t10k"):
        header = struct.pack(">IIII", 0x803, count, 28, 28)
        (raw / f"{part}-images-idx3-ubyte").write_bytes(header + random.bytes(count * 28 * 28))
        labels = (np.arange(count) % 10).astype(np.uint8)
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels.tobytes())


def test_too_little_memory_fails_with_one_sentence(runs):
    write_noise_as_mnist(runs.folder / "data", 4100)
    config = TrainConfig(dataset="mnist", net="mlp", loss="triplet", images_per_class=400, steps=20)
    run = training(runs, config).begin()
    with worker("--wait", "--data", runs.folder / "data") as process:
        told(process)
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0])
        limit = (
            pages * resource.getpagesize() + 100 * 2**20
        )  # a matrix of 4,000 × 4,000 has 64 MB, and it takes several
        resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, limit))
        order(process, run)
        ended(process)
    assert run.state == "failed"
    assert run.end["reason"].startswith("Out of memory")
    assert "Traceback" in (run.path / "error.txt").read_text()


@pytest.mark.parametrize(
    ("status", "said", "sentence"),
    [
        (-signal.SIGKILL, [], "killed (signal 9): most likely out of memory"),
        (-signal.SIGSEGV, ["x"], "signal 11, SIGSEGV"),
        (1, ["Traceback …", "ImportError: no such thing"], "(exit status 1): ImportError: no such thing."),
        (1, ["ImportError: cannot import name 'X' from 'dmlviz.y' (y.py)"], "dmlviz was changed while it ran: start"),
        (0, [], "ended before its work was done (exit status 0)."),
    ],
)
def test_the_exit_of_a_worker_is_one_sentence(status, said, sentence):
    assert sentence in exit_message(status, said)


def test_who_lost_a_worker_to_a_lack_of_memory_is_told_what_helps(tmp_path, short):
    computed = features(tmp_path, {"kind": "features", "dataset": "digits"})
    for order, advice in ((training(Runs(tmp_path), short), "smaller batches"), (computed, "and continue")):
        job = Job(order, record=None, owners=[])
        why = job.why_it_failed(exit_message(-signal.SIGKILL, []))
        assert "out of memory" in why
        assert advice in why
        assert job.why_it_failed("It ended.") == "It ended."


def test_a_kind_of_job_that_nobody_knows_is_one_sentence(tmp_path):
    (tmp_path / "order.json").write_text('{"kind": "cook"}')
    with tempfile.TemporaryFile() as errors, worker(tmp_path, errors=errors) as process:
        assert ended(process) == 1
        errors.seek(0)
        said = errors.read().decode()
    assert "A worker does train, project, features, answer, trial, clean; got 'cook'" in said
    assert "Traceback" not in said


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system does not share among sessions")
@pytest.mark.parametrize(("leads", "niceness"), [(True, "4"), (False, "0")])
def test_a_map_leaves_the_processor_to_a_training_also_where_sessions_share_it(leads, niceness):
    code = (
        "from dmlviz.process_setup import lower_priority as lower; lower(4); print(open('/proc/self/autogroup').read())"
    )
    command = [*([] if leads else ["sh", "-c", '"$@"; true', "terminal"]), sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True, start_new_session=True).stdout
    assert said.split()[-2:] == ["nice", niceness]
