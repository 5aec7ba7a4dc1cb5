"""Does what the Dockerfile says in a fresh Debian root, where no container engine is at hand.

    sudo python3 deploy/try_dockerfile.py FOLDER [--build-arg NAME=VALUE] [--mount PATH]

debootstrap makes the root; chroot runs the steps there, the last ones as the Dockerfile's own user. Then the app is
started as its ENTRYPOINT and CMD say, until its HEALTHCHECK holds, and ended by SIGTERM. It prints sizes and memory.
`--mount` shows a file or folder of this machine to the first stage, such as one of wheels; PIP_* of the environment are
passed on.
"""

import argparse
import fnmatch
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
PACKAGES = "python3,python3-venv,ca-certificates"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def instructions(text: str) -> list[tuple[str, str]]:
    """Name and arguments of each instruction."""
    text = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    parts = [line.strip().partition(" ") for line in text.splitlines() if line.strip()]
    return [(name.upper(), rest.strip()) for name, _, rest in parts]


def in_context(relative: str) -> bool:
    """Whether .dockerignore lets this file in; the last line that fits decides."""
    allowed = True
    for line in (HERE / ".dockerignore").read_text().split():
        pattern = line.removeprefix("!").removeprefix("**/")
        parts = Path(relative).parts
        fits = any(fnmatch.fnmatch(part, pattern) for part in parts) if "**/" in line else parts[:1] == (pattern,)
        if line == "*" or fits:
            allowed = line.startswith("!")
    return allowed


class Stage:
    """One FROM: a root folder, and what was said about it so far."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {"PATH": PATH}
        self.folder = "/"
        self.user = "0"
        self.commands: dict[str, list[str]] = {}
        self.volumes: list[str] = []

    def process(self, command: list[str], **more: object) -> subprocess.Popen:
        """A process in the root, as the user, in the folder, with the environment."""
        inside = ["env", "-i", *(f"{name}={value}" for name, value in self.environment.items()), *command]
        change = f"cd {shlex.quote(self.folder)} && exec {shlex.join(inside)}"
        user = f"--userspec={self.user}:{self.user}"
        return subprocess.Popen(["chroot", user, str(self.root), "/bin/sh", "-c", change], **more)

    def run(self, command: list[str]) -> int:
        """Its exit status."""
        return self.process(command).wait()

    def copy(self, sources: list[str], target: str, context: Path) -> None:
        """COPY; only what .dockerignore lets through where it comes from the checkout."""
        goal = self.root / os.path.join(self.folder, target).lstrip("/")
        for source in sources:
            path = context / source.lstrip("/")
            ours = context == HERE
            if ours and not in_context(source):
                raise SystemExit(f".dockerignore keeps {source} out, which is copied")
            if path.is_dir():
                shutil.copytree(path, goal, symlinks=True, dirs_exist_ok=True, ignore=pycache if ours else None)
            else:
                into = goal / path.name if target.endswith("/") else goal
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, into)


def pycache(_folder: str, names: list[str]) -> list[str]:
    """What is left out below a folder of the checkout."""
    return [name for name in names if name == "__pycache__"]


def size(path: Path) -> float:
    """Gigabytes of a folder."""
    return int(subprocess.run(["du", "-sxb", path], capture_output=True, text=True, check=True).stdout.split()[0]) / 1e9


def build(folder: Path, arguments: dict[str, str], mounted: list[Path]) -> Stage:
    """Do every instruction; the last stage."""
    base = folder / "base"
    if not base.exists():
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", base], check=True)
    arguments = {"BASE": f"debootstrap@sha256:{'0' * 64}", **arguments}  # no image is pulled
    stages: dict[str, Stage] = {}
    stage = Stage(base)
    for name, rest in instructions((HERE / "Dockerfile").read_text()):
        print(f"{name} {rest}", flush=True)
        if name == "FROM":
            called = rest.partition(" AS ")[2] or "last"
            root = folder / called
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(base, root, symlinks=True, ignore=lambda at, _: ["dev"] if Path(at) == base else [])
            (root / "dev").mkdir()
            for device, minor in (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9)):
                os.mknod(root / "dev" / device, 0o20666, os.makedev(1, minor))
                (root / "dev" / device).chmod(0o666)
            shutil.copy2("/etc/resolv.conf", root / "etc" / "resolv.conf")
            stage = stages[called] = Stage(root)
            if called != "last":
                stage.environment |= {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
                for each in mounted:
                    goal = root / str(each).lstrip("/")
                    goal.parent.mkdir(parents=True, exist_ok=True)
                    subprocess.run(["cp", "-rLT", "--remove-destination", each, goal], check=True)
        elif name == "ARG":
            key, _, value = rest.partition("=")
            stage.environment[key] = arguments.get(key, value)
        elif name == "ENV":
            for pair in shlex.split(rest):
                key, _, value = pair.partition("=")
                stage.environment[key] = value.replace("$PATH", stage.environment["PATH"])
        elif name == "WORKDIR":
            stage.folder = rest
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif name == "USER":
            stage.user = rest
        elif name == "COPY":
            *sources, target = shlex.split(rest)
            context = HERE
            if sources[0].startswith("--from="):
                context = stages[sources.pop(0).removeprefix("--from=")].root
            stage.copy(sources, target, context)
        elif name == "RUN":
            if stage.run(["/bin/sh", "-c", rest]):
                raise SystemExit(f"RUN {rest} failed")
        elif name == "VOLUME":
            stage.volumes = json.loads(rest)
        elif name in ("ENTRYPOINT", "CMD"):
            stage.commands[name] = json.loads(rest)
        elif name == "HEALTHCHECK":
            stage.commands[name] = json.loads(rest.partition(" CMD ")[2])
        elif name != "EXPOSE":
            raise SystemExit(f"This script does not know {name}.")
    return stage


def memory(pid: int) -> float:
    """Megabytes of a process that are its own (PSS), with all its descendants."""
    total, waiting = 0, [pid]
    while waiting:
        each = waiting.pop()
        try:
            total += int(re.search(r"^Pss: +(\d+)", Path(f"/proc/{each}/smaps_rollup").read_text(), re.MULTILINE)[1])
            waiting += map(int, Path(f"/proc/{each}/task/{each}/children").read_text().split())
        except (OSError, TypeError):
            continue
    return total / 1000


def try_it(stage: Stage) -> None:
    """Start the app, wait for its health, look at what it may write, end it."""
    places = ("/", "/opt/dmlviz", "/usr/bin", *stage.volumes)
    writable = [path for path in places if stage.run(["test", "-w", path]) == 0]
    assert writable == stage.volumes, writable
    began = time.monotonic()
    app = stage.process(stage.commands["ENTRYPOINT"] + stage.commands["CMD"], start_new_session=True)
    try:
        while stage.process(stage.commands["HEALTHCHECK"], stderr=subprocess.DEVNULL).wait():
            assert app.poll() is None, "the app ended"
            assert time.monotonic() - began < 120, "it is not healthy after two minutes"
            time.sleep(1)
        print(f"healthy after {time.monotonic() - began:.0f} s, {memory(app.pid):.0f} MB with its workers", flush=True)
    finally:
        app.send_signal(signal.SIGTERM)
        began = time.monotonic()
        status = app.wait(20)
    print(f"ended {time.monotonic() - began:.1f} s after SIGTERM, exit status {status}")


def main() -> None:
    """Build and try."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--mount", action="append", default=[], type=Path, metavar="PATH")
    given = parser.parse_args()
    if os.geteuid():
        sys.exit("Only root may change the root folder: use sudo.")
    given.folder.mkdir(parents=True, exist_ok=True)
    stage = build(given.folder, dict(each.split("=", 1) for each in given.build_arg), given.mount)
    print(f"the last root: {size(stage.root):.2f} GB, of it {size(given.folder / 'base'):.2f} GB Debian and Python")
    try_it(stage)


if __name__ == "__main__":
    main()
