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
        requirements = [Requirement(line) for line in requires("dmlviz") or ()]
    except PackageNotFoundError:
        return Check("packages", "warning", "dmlviz is not installed, only imported.", "Run: pip install .")
    requirements = [each for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    wrong = [each for each in requirements if not _is_met(each)]
    if wrong:
        finding = "; ".join(f"{each} is needed, {_version(each.name) or 'none'} is installed" for each in wrong)
        return Check(
            "packages", "broken", finding, "Run: pip install " + " ".join(f"'{_plain(each)}'" for each in wrong)
        )
    versions = ", ".join(f"{name} {_version(name)}" for name in SHOWN)
    return Check("packages", "ok", f"all {len(requirements)} that are needed; {versions}")


def check_extras() -> Check:
    """Return which optional parts are installed."""
    try:
        names = metadata("dmlviz").get_all("Provides-Extra") or []
        lines = [Requirement(line) for line in requires("dmlviz") or ()]
    except PackageNotFoundError:
        names, lines = [], []
    parts = []
    for name in sorted(set(names) - set(DEVELOPMENT_EXTRAS)):
        of_extra = [each for each in lines if each.marker and _is_for_extra(each, name)]
        parts.append(f"{name} " + ("installed" if all(map(_is_met, of_extra)) else f"not installed (dmlviz[{name}])"))
    return Check("optional parts", "ok", ", ".join(parts) or "none")


def check_page() -> Check:
    """Return whether the page's built files are there."""
    scripts = [file.name for file in (files("dmlviz") / "_frontend").iterdir() if file.name.endswith(".js")]
    if not any(name.startswith("page-") for name in scripts):
        remedy = "Install dmlviz again; in a checkout: cd frontend && npm ci && npm run build"
        return Check("page", "broken", "The page's built files are missing.", remedy)
    return Check("page", "ok", f"{len(scripts)} built files")


def _is_for_extra(requirement: Requirement, extra: str) -> bool:
    assert requirement.marker is not None
    return requirement.marker.evaluate({"extra": extra}) and not requirement.marker.evaluate({"extra": ""})


def _is_met(requirement: Requirement) -> bool:
    current = _version(requirement.name)
    return current is not None and requirement.specifier.contains(current, prereleases=True)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _plain(requirement: Requirement) -> str:
    return f"{requirement.name}{requirement.specifier}"
