"""Files for GitHub and its services are what their schemas ask for; the locked versions fit what is asked for."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
CHECKED = [
    ("github-workflows", sorted((ROOT / ".github" / "workflows").glob("*.yml"))),
    ("github-issue-forms", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))),
    ("github-issue-config", [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"]),
    ("dependabot", [ROOT / ".github" / "dependabot.yml"]),
    ("citation-file-format", [ROOT / "CITATION.cff"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "files"), CHECKED, ids=[schema for schema, _ in CHECKED])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of older versions of check-jsonschema, at import
def test_files_are_what_their_schema_asks_for(schema, files):
    import check_jsonschema

    assert files
    done = CliRunner().invoke(check_jsonschema.main, ["--builtin-schema", f"vendor.{schema}", *map(str, files)])
    assert done.exit_code == 0, done.output


@pytest.mark.slow
def test_what_is_imported_is_asked_for_by_name():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for name, lines in project["optional-dependencies"].items() if name != "test" for line in lines]
    asked = {_plain(Requirement(line).name) for line in [*project["dependencies"], *extras]}
    distributions = packages_distributions()
    for path in [*(ROOT / "dmlviz").rglob("*.py"), *(ROOT / "app").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names, "dmlviz", "dmlviz_app"}:
                assert {name, *map(_plain, distributions.get(name, ()))} & asked, (path, name)


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def test_every_requirement_has_a_lower_bound_and_a_locked_version_within_it():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    locked = {name.lower().replace("_", "-"): version for name, version in (line.split("==") for line in lines)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for extra in project["optional-dependencies"].values() for line in extra]
    requirements = [Requirement(line) for line in [*project["dependencies"], *extras]]
    for each in requirements:
        if each.name != "dmlviz" and (each.marker is None or each.marker.evaluate()):
            assert locked[each.name.lower()] in each.specifier, str(each)
    named = list(map(Requirement, project["dependencies"]))
    assert all({part.operator for part in each.specifier} == {">="} for each in named)


def test_all_has_every_extra_that_a_user_may_want():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert Requirement(extras["all"][0]).extras == extras.keys() - {"all", "docs", "test"}


def test_the_locked_versions_name_no_address():
    assert not {":", "@", "/", "+"} & set("".join((ROOT / "constraints.txt").read_text().split("\n")[2:]))


SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if service["image"] == "dmlviz"])
def test_every_container_of_the_image_is_restricted_alike(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] == "1000"
    assert service["mem_limit"] == "4g"
    assert service["pids_limit"] <= 2048
    assert service["tmpfs"] == ["/tmp:size=1g,mode=1777"]
    for forbidden in ("privileged", "cap_add", "devices", "network_mode", "pid", "ipc", "ports"):
        assert forbidden not in service
    assert not any(volume.startswith(("/", ".")) for volume in service["volumes"]), "a folder of the machine"
    if name != "app":
        assert service["volumes"] == ["fleet:/certificates:ro"], "it needs the certificates, and writes nothing"


def test_app_scheduler_and_worker_are_containers_of_the_image():
    assert {name for name, service in SERVICES.items() if service["image"] == "dmlviz"} == {
        "app",
        "scheduler",
        "worker",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "is_taken"),
    [
        ("python@sha256:" + "0" * 64, True),
        ("mirror.school.example/python:3.11@sha256:" + "0" * 64, True),
        ("python:3.11-slim-bookworm", False),
        ("python@sha256:0000", False),
        ("", False),
    ],
)
def test_the_base_image_is_given_by_its_digest(base, is_taken):
    stages = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert stages == ["${BASE}"] * 2
    (check,) = re.findall(r"^RUN (echo .*)$", DOCKERFILE, re.MULTILINE)
    done = subprocess.run(["sh", "-c", check], env={"BASE": base}, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == is_taken
    assert is_taken or "--build-arg BASE=python@sha256:" in done.stdout


def test_the_image_keeps_the_list_of_what_is_installed():
    assert re.search(
        r"cyclonedx-py environment .*--output-file /opt/dmlviz/sbom\.cdx\.json /opt/dmlviz/bin/python", DOCKERFILE
    )
    assert (
        "COPY --from=build /opt/dmlviz /opt/dmlviz\nRUN dpkg-query --show > /opt/dmlviz/debian-packages.tsv"
        in DOCKERFILE
    )
    assert "/opt/dmlviz/sbom.cdx.json" in (ROOT / "docs" / "HOSTING.md").read_text()
