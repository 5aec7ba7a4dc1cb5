"""Lines of the product and of the tests, against the limits in pyproject.toml: `python scripts/check_budget.py`.

A commit that raises a limit says why. Lines are counted in what `git ls-files` names, blank ones too.
"""

import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {".py", ".ts", ".tsx", ".css", ".js", ".mjs"}
PRODUCT = ("dmlviz/", "app/dmlviz_app/", "frontend/src/", "packages/")
TESTS = ("tests/", "frontend/test/")
NO_TESTS = ("tests/bench/", "tests/faults/")  # measurements, and programs that break a server on purpose


def main() -> None:
    """Print a line for each count, and exit with 1 where one is above its limit."""
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    code = [name for name in tracked if Path(name).suffix in SUFFIXES and "/_frontend/" not in name]
    counts = {
        "product": _lines(name for name in code if name.startswith(PRODUCT)),
        "tests": _lines(name for name in code if name.startswith(TESTS) and not name.startswith(NO_TESTS)),
        "files": len(tracked),
    }
    limits = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dmlviz"]["budget"]
    for name, count in counts.items():
        print(f"{name}: {count:,} of {limits[name]:,}")
    sys.exit(any(count > limits[name] for name, count in counts.items()))


def _lines(names: Iterable[str]) -> int:
    return sum((ROOT / name).read_bytes().count(b"\n") for name in names if (ROOT / name).exists())


if __name__ == "__main__":
    main()
