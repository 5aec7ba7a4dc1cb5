"""Files for GitHub and its services are what their schemas ask for; the locked versions fit what is asked for."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
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


def test_the_locked_versions_name_no_address():
    assert not {":", "@", "/", "+"} & set("".join((ROOT / "constraints.txt").read_text().split("\n")[2:]))
