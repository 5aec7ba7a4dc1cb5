"""The wheel and an editable checkout run as the sources do."""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import dmlviz

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this checkout, built as pip builds it, but without an environment of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    """The wheel's files, as pip would lay them out."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def tracked(*folders):
    listed = subprocess.run(["git", "ls-files", "-z", "--", *folders], cwd=ROOT, capture_output=True, check=True)
    return [name for name in listed.stdout.decode().split("\0") if name]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows which files belong to it")
def test_the_wheel_holds_every_file_of_library_and_app_and_no_tests(unpacked):
    names = [name for name in tracked("dmlviz", "app/dmlviz_app") if (ROOT / name).exists()]
    expected = {name.removeprefix("app/") for name in names}
    found = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    assert expected <= found
    assert {path.name for path in unpacked.iterdir() if path.suffix != ".dist-info"} == {"dmlviz", "dmlviz_app"}


def test_wheel_and_checkout_bring_the_same_ready_made_runs_and_results(unpacked, tmp_path, monkeypatch):
    code = (
        "from dmlviz.labs.lab_study import ready_made, results_archive; from dmlviz.labs.registry import LABS\n"
        "from dmlviz.runs import Runs\n"
        "print(results_archive('reid'))\n"
        "print([(run.id, run.state) for run in Runs('none').list()])\n"
        "print({lab: len(ready_made(lab).results()) for lab in LABS if results_archive(lab).is_file()})\n"
    )
    shown = {}
    for place in (ROOT, unpacked):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / place.name))
        archive, *shown[place] = _python(code, place, cwd=tmp_path)
        assert Path(archive) == place / "dmlviz" / "labs" / "reid" / "results.zip"
    assert shown[ROOT] == shown[unpacked]
    assert shown[ROOT][0].count("finished") == len([*(ROOT / "dmlviz" / "ready_made_runs").glob("*.zip")])
    assert len(eval(shown[ROOT][1])) == len([*(ROOT / "dmlviz" / "labs").glob("*/results.zip")])


def test_the_app_builds_from_the_wheel_outside_the_checkout(unpacked, tmp_path):
    code = (
        "from functools import partial\n"
        "from pathlib import Path\n"
        "from dmlviz_app import application; from dmlviz_app.server import services\n"
        "from dmlviz.export.page import BUILT\n"
        "services.start_services = partial(services.start_services, warm=False)\n"
        f"application.build_app(application.Settings(runs=Path({str(tmp_path / 'runs')!r}), port=0))\n"
        "services.stop_services()\n"
        "from streamlit.components.v2.manifest_scanner import scan_component_manifests\n"
        "found = [(m, root) for m, root in scan_component_manifests() if m.name == 'dmlviz'][0]\n"
        "print(found[1].resolve())\n"
        "print(all(list(BUILT.glob(f'{c.name}-*.js')) for c in found[0].components))"
    )
    folder, complete = _python(code, unpacked, cwd=tmp_path)
    assert Path(folder) == unpacked.resolve() / "dmlviz"
    assert complete == "True"


@pytest.mark.parametrize("name", ["figures", "losses", "miners", "metrics", "nets", "data", "plugins", "projection"])
def test_tab_completion_offers_what_a_package_declares(name):
    package = import_module(f"dmlviz.{name}")
    assert sorted(package.__all__) == dir(package)
    assert all(hasattr(package, each) for each in dir(package))
    assert {"train", "record", "show", "TrainConfig", name} <= set(dir(dmlviz))
    assert not {"Any", "import_module", "TYPE_CHECKING"} & set(dir(dmlviz))


@pytest.mark.parametrize("use", ["losses, dmlviz.miners", "miners; dmlviz.show", "config; dmlviz.TrainConfig()"])
def test_imports_load_nothing_that_takes_long(use):
    heavy = "torch torchvision streamlit plotly sklearn scipy pandas numba umap faiss cv2 PIL pyarrow anywidget IPython"
    assert _python(f"import sys, dmlviz.{use}; print(set(sys.modules) & set({heavy.split()}))", None) == ["set()"]


def test_the_command_is_installed(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        assert "dmlviz = dmlviz.cli.main:main" in archive.read(name).decode()
        (name,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        described = archive.read(name).decode()
    assert "Requires-Python: >=3.11" in described
    assert "License-Expression: MIT" in described
    assert "Requires-Dist: torch>=2.6" in described


def test_the_installed_package_is_found_from_anywhere(tmp_path):
    shown = _python("import dmlviz, dmlviz_app; print(dmlviz.__file__); print(dmlviz_app.__file__)", None, cwd=tmp_path)
    assert [Path(path).parents[1] for path in shown] == [ROOT, ROOT / "app"]


def test_the_program_serves_on_loopback_until_ctrl_c_in_a_folder_that_holds_somebodys_app(unpacked, tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise SystemExit('the wrong package')")
    (tmp_path / "app.py").write_text("raise SystemExit('the wrong file')")
    command = [sys.executable, "-m", "dmlviz", "--no-browser", "--port", "0", "--runs", str(tmp_path / "runs")]
    environment = os.environ | {"PYTHONPATH": str(unpacked), "DMLVIZ_DATA": str(tmp_path / "data")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as server:
        try:
            line = next(line for line in server.stdout if "://" in line or "wrong" in line)
            (address,) = re.findall(r"http://127\.0\.0\.1:\d+", line)
            assert urllib.request.urlopen(f"{address}/dmlviz/health", timeout=20).status == 200
        finally:
            server.send_signal(signal.SIGINT)
            output, _ = server.communicate(timeout=120)
    assert server.returncode in (0, 130)
    assert "Traceback" not in output


def _python(code, path, cwd=None):
    """The lines that code prints in a new interpreter, with `path` before everything that is installed."""
    start = f"import sys; sys.path.insert(0, {str(path)!r})\n" if path else ""
    done = subprocess.run(
        [sys.executable, "-P", "-c", start + code], cwd=cwd, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def checkout(tmp_path):
    """A checkout with no environment yet, in a folder whose name has a space."""
    folder = tmp_path / "a clone"
    (folder / "scripts").mkdir(parents=True)
    for name in ("start", "test", "pyproject.toml", "constraints.txt", "scripts/environment.sh"):
        shutil.copy2(ROOT / name, folder / name)
    return folder


PYTHON = f"""#!{sys.executable} -S
import os, pathlib, sys
here, words = pathlib.Path(__file__), sys.argv[1:]
if words[0] in ("-c", "-V"):
    os.execv({sys.executable!r}, [{sys.executable!r}, *words])
with open({{log!r}}, "a") as log:
    print(*words, file=log)
if words[:2] == ["-m", "venv"]:
    if {{broken}}:
        sys.exit("No module named venv")
    copy = pathlib.Path(words[2], "bin", "python")
    copy.parent.mkdir(parents=True)
    copy.write_text(here.read_text())
    copy.chmod(0o755)
"""


def _start(checkout, python):
    stand_in = checkout.parent / "python"
    stand_in.write_text(python)
    stand_in.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": str(stand_in)}
    return subprocess.run(["sh", checkout / "start", "runs"], env=environment, capture_output=True, text=True)


def test_start_says_which_python_it_needs(checkout):
    done = _start(checkout, '#!/bin/sh\ncase "$*" in *print*) echo 3.9;; *) exit 1;; esac\n')
    assert done.returncode == 1
    assert "needs Python 3.11 or newer; found 3.9" in done.stderr


def test_start_says_when_python_has_no_venv(checkout, tmp_path):
    done = _start(checkout, PYTHON.format(log=str(tmp_path / "log"), broken=True))
    assert done.returncode == 1
    assert "python3-venv" in done.stderr
    assert not (checkout / ".venv").exists()


def test_start_installs_once_and_passes_its_arguments_on(checkout, tmp_path):
    log = tmp_path / "log"
    for _ in range(2):
        done = _start(checkout, PYTHON.format(log=str(log), broken=False))
        assert done.returncode == 0, done.stderr
    assert log.read_text().splitlines() == [
        f"-m venv {checkout}/.venv",
        f"-m pip install --no-compile --disable-pip-version-check --constraint {checkout}/constraints.txt"
        f" --editable {checkout}[torchvision]",
        "-m dmlviz.projection.compilation",
        "-m dmlviz runs",
        "-m dmlviz runs",
    ]
    (checkout / "pyproject.toml").write_text((checkout / "pyproject.toml").read_text() + "\n# another library\n")
    _start(checkout, PYTHON.format(log=str(log), broken=False))
    assert log.read_text().splitlines()[-3].startswith("-m pip install")
