"""The containers: what compose.yaml lets them do, and what the Dockerfile builds on and writes down."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
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
