"""`dmlviz doctor`: what it finds is so, and what is broken is said with a remedy."""

import json
import shutil
import socket
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from dmlviz.cli import doctor
from dmlviz.cli.doctor import Check, _look_at, _table

Usage = namedtuple("Usage", "total used free")


def test_all_is_checked_and_a_broken_folder_is_exit_status_1(run_cli, tmp_path):
    file = tmp_path / "file"
    file.touch()
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        code, shown, _ = run_cli("doctor", "--json", "--runs", file / "runs", "--port", busy.getsockname()[1])
    result = json.loads(shown)
    checks = {check["name"]: check for check in result["checks"]}
    assert (code, result["ok"]) == (1, False)
    assert [name for name, check in checks.items() if check["state"] == "broken"] == ["runs folder"]
    assert "--runs" in checks["runs folder"]["remedy"]
    assert checks["port"]["state"] == "warning"
    assert "in use" in checks["port"]["finding"]
    assert "digits" in checks["data sets"]["finding"]
    assert all(check["finding"] for check in checks.values())


@pytest.mark.parametrize(("torch", "state"), [("2.1.0", "warning"), (None, "ok")])
def test_a_torchvision_that_does_not_fit_torch_is_said(monkeypatch, torch, state):
    import torch as installed

    wanted = f"torch=={torch or installed.__version__.partition('+')[0]}"
    monkeypatch.setattr(doctor, "requires", lambda name: {"torchvision": ["numpy", wanted]}[name])
    monkeypatch.setattr(doctor, "version", lambda name: "0.16.0")
    monkeypatch.setattr(doctor, "NVIDIA", Path("/nowhere"))
    check = doctor.check_torch()
    assert check.state == state
    assert (wanted in check.finding) == (state == "warning")


@pytest.mark.parametrize(
    ("limits", "state"), [((256, 1024), "warning"), ((256, 20_000), "ok"), ((256, -1), "ok"), (None, "ok")]
)
def test_few_open_files_are_said(monkeypatch, limits, state):
    monkeypatch.setattr(doctor, "open_files", lambda: limits)
    check = doctor.check_open_files()
    assert check.state == state
    assert ("LimitNOFILE" in check.remedy) == (state == "warning")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize(("hard", "soft"), [(300, 300), (5000, 5000)])
def test_a_server_opens_as_many_files_as_the_system_lets_it(hard, soft):
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, {hard}))\n"
        "from dmlviz.process_setup import raise_open_files; raise_open_files(); raise_open_files()\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"({soft}, {hard})"


@pytest.mark.parametrize(("free", "state"), [(2e12, "ok"), (5e8, "warning"), (1e6, "broken")])
def test_little_space_is_said(monkeypatch, tmp_path, free, state):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1e12, 0, int(free)))
    check = doctor.check_folder("runs folder", tmp_path / "not" / "yet", "--runs FOLDER")
    assert check.state == state
    assert ("--runs FOLDER" in check.remedy) == (state != "ok")
    assert not (tmp_path / "not").exists()


def test_a_graphics_card_that_torch_cannot_use_is_a_warning(monkeypatch, tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("torch can use the card of this machine")
    assert doctor.check_torch().state == "ok"  # none is needed
    (tmp_path / "version").touch()
    monkeypatch.setattr(doctor, "NVIDIA", tmp_path / "version")
    check = doctor.check_torch()
    assert check.state == "warning"
    assert torch.__version__ in check.finding
    assert "pytorch.org" in check.remedy


def test_a_check_that_fails_is_broken_and_no_traceback():
    check = _look_at("memory", lambda: 1 / 0)
    assert (check.name, check.state) == ("memory", "broken")
    assert "ZeroDivisionError" in check.finding


def test_the_table_shows_brackets_as_they_are(capsys):
    from rich.console import Console

    Console(width=80).print(_table([Check("x", "warning", "dmlviz[fleet]", "pip install 'dmlviz[fleet]'")]))
    assert "→ pip install 'dmlviz[fleet]'" in capsys.readouterr().out
