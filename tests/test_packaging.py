"""The wheel and an editable checkout run as the sources do."""

import shutil
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import dmlviz

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
    expected = {name for name in tracked("dmlviz", "app") if (ROOT / name).exists()}
    found = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    assert expected <= found
    assert not [name for name in found if name.startswith(("tests", "assets", "frontend"))]


def test_the_ready_made_runs_are_found_in_wheel_and_checkout(unpacked):
    code = (
        "from dmlviz.runs import BUNDLED_RUNS, Runs; print(BUNDLED_RUNS.resolve());"
        "print(len(Runs(BUNDLED_RUNS / 'none').list()))"
    )
    at_home = _python(code, ROOT)
    installed = _python(code, unpacked)
    assert Path(at_home[0]) == ROOT / "dmlviz" / "ready_made_runs"
    assert Path(installed[0]) == unpacked.resolve() / "dmlviz" / "ready_made_runs"
    assert installed[1] == at_home[1]


def test_the_app_builds_from_the_wheel_outside_the_checkout(unpacked, tmp_path):
    code = (
        "from functools import partial\n"
        "from pathlib import Path\n"
        "from app import server; from app.runtime import services\n"
        "from dmlviz.export.page import BUILT\n"
        "services.start_services = partial(services.start_services, warm=False)\n"
        f"server.build_app(server.Settings(runs=Path({str(tmp_path / 'runs')!r}), port=0))\n"
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


def test_the_command_is_installed(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        assert "dmlviz = dmlviz.cli.main:main" in archive.read(name).decode()
        (name,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        described = archive.read(name).decode()
    assert "Requires-Python: >=3.11" in described
    assert "License-Expression: MIT" in described
    assert "Requires-Dist: torch~=2.13.0" in described


def test_the_installed_package_is_found_from_anywhere(tmp_path):
    shown = _python("import dmlviz, app; print(dmlviz.__file__); print(app.__file__)", None, cwd=tmp_path)
    assert [Path(path).parents[1] for path in shown] == [ROOT, ROOT]


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
    for name in ("start", "test", "pyproject.toml", "scripts/environment.sh"):
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
        f"-m pip install --disable-pip-version-check --editable {checkout}",
        "-m dmlviz runs",
        "-m dmlviz runs",
    ]
    (checkout / "pyproject.toml").write_text((checkout / "pyproject.toml").read_text() + "\n# another library\n")
    _start(checkout, PYTHON.format(log=str(log), broken=False))
    assert log.read_text().splitlines()[-2].startswith("-m pip install")
