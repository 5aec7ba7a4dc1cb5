"""Checks of what is installed: Python, packages, the built files of the page."""

import platform
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from importlib.resources import files

from packaging.requirements import Requirement

from dmlviz.doctor.folders import Check
from dmlviz.version import __version__

SHOWN = ("torch", "streamlit", "numpy")  # packages whose version people are asked for in reports of errors
DEVELOPMENT_EXTRAS = ("test",)


def check_program() -> Check:
    """Return the versions of dmlviz, Python and the system."""
    finding = f"dmlviz {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return Check("program", "ok", finding)


def check_packages() -> Check:
    """Return whether every package that dmlviz needs is installed in a version that it can use."""
    try:
        needed = [Requirement(line) for line in requires("dmlviz") or ()]
    except PackageNotFoundError:
        return Check("packages", "warning", "dmlviz is not installed, only imported.", "Run: pip install .")
    needed = [each for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    wrong = [each for each in needed if not _is_met(each)]
    if wrong:
        finding = "; ".join(f"{each} is needed, {_version(each.name) or 'none'} is installed" for each in wrong)
        return Check(
            "packages", "broken", finding, "Run: pip install " + " ".join(f"'{_plain(each)}'" for each in wrong)
        )
    versions = ", ".join(f"{name} {_version(name)}" for name in SHOWN)
    return Check("packages", "ok", f"all {len(needed)} that are needed; {versions}")


def check_extras() -> Check:
    """Return which optional parts are installed."""
    try:
        names = metadata("dmlviz").get_all("Provides-Extra") or []
        lines = [Requirement(line) for line in requires("dmlviz") or ()]
    except PackageNotFoundError:
        names, lines = [], []
    parts = []
    for name in sorted(set(names) - set(DEVELOPMENT_EXTRAS)):
        needed = [each for each in lines if each.marker and _is_for_extra(each, name)]
        parts.append(f"{name} " + ("installed" if all(map(_is_met, needed)) else f"not installed (dmlviz[{name}])"))
    return Check("optional parts", "ok", ", ".join(parts) or "none")


def check_page() -> Check:
    """Return whether the page's built files are there."""
    built = [file.name for file in (files("dmlviz") / "_frontend").iterdir() if file.name.endswith(".js")]
    if not any(name.startswith("page-") for name in built):
        remedy = "Install dmlviz again; in a checkout: cd frontend && npm ci && npm run build"
        return Check("page", "broken", "The page's built files are missing.", remedy)
    return Check("page", "ok", f"{len(built)} built files")


def _is_for_extra(needed: Requirement, extra: str) -> bool:
    assert needed.marker is not None
    return needed.marker.evaluate({"extra": extra}) and not needed.marker.evaluate({"extra": ""})


def _is_met(needed: Requirement) -> bool:
    installed = _version(needed.name)
    return installed is not None and needed.specifier.contains(installed, prereleases=True)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _plain(needed: Requirement) -> str:
    return f"{needed.name}{needed.specifier}"
