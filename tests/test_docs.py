"""Documents: names are those of the catalog, the README's code and commands work, examples in docstrings run."""

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
from difflib import get_close_matches
from pathlib import Path

import pytest

import dmlviz
from dmlviz.catalog.backbones import BACKBONES
from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.cli.main import COMMANDS, main
from dmlviz.config import ProjectionConfig, TrainConfig

ROOT = Path(__file__).parents[1]
CATALOGS = (LOSSES, MINERS, NETS, METRICS, DATASETS, SAMPLERS, PROJECTIONS, BACKBONES)
NAMES = {name for catalog in CATALOGS for name in catalog}
OPTIONS = {parameter.name for catalog in CATALOGS for spec in catalog.values() for parameter in spec.parameters}
OPTIONS |= {*TrainConfig.model_fields, *ProjectionConfig.model_fields}
KNOWN = NAMES | OPTIONS
LONG = [name for name in KNOWN if "_" in name]
CODE = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`")  # of two words or more: one word may be anything
NEAR = 0.8  # of `difflib`, from which a word looks like a name
README = "\n".join((ROOT / name).read_text() for name in ("README.md", "docs/COMMANDS.md", "docs/PYTHON.md"))
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
PACKAGE = Path(dmlviz.__file__).parent
MODULES = [
    ".".join(("dmlviz", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text()
]


def wrong_names(text: str) -> list[str]:
    """Return the code words that look like a name of the catalog or a setting and are none, with that name."""
    return [
        f"{word}: {near[0]}?"
        for word in CODE.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        if word not in KNOWN and (near := get_close_matches(word, LONG, 1, NEAR))
    ]


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))], ids=lambda path: path.name
)
def test_names_in_documents_are_those_of_the_catalog(path: Path) -> None:
    assert wrong_names(path.read_text()) == []


def test_a_name_that_is_not_in_the_catalog_is_found() -> None:
    assert wrong_names("Two margins `contrastive_double_margin`") == [
        "contrastive_double_margin: contrastive_no_margin?"
    ]
    assert wrong_names("`batch_hards` and `images_per_clas`") == [
        "batch_hards: batch_hard?",
        "images_per_clas: images_per_class?",
    ]
    assert wrong_names("`contrastive_double`, `batch_size`, `dmlviz_sessions`, `state_dict`") == []


@pytest.mark.slow
def test_the_readmes_python_runs(tmp_path):
    script = (
        "import json, sys\n"
        "for block in json.load(sys.stdin):\n"
        "    exec(block, {'__name__': '__main__'})\n"
        "    print('and the next')\n"  # each in a namespace of its own, as in a new file
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        input=json.dumps(BLOCKS),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    *shown, rest = done.stdout.split("and the next\n")
    assert len(shown) == len(BLOCKS) > 0
    assert all(shown)
    assert not rest


def test_the_readmes_commands_exist():
    shown = set(re.findall(r"^dmlviz ([a-z]+)", README, re.MULTILINE))
    assert shown
    assert shown <= set(COMMANDS)


def test_the_readmes_options_exist(capsys):
    for command in COMMANDS:
        for line in re.findall(rf"^dmlviz {command} (.*)$", README, re.MULTILINE):
            words = line.split("  #")[0].split()
            with pytest.raises(SystemExit):
                main([command, *(word for word in words[:1] if word.islower() and word.isalpha()), "--help"])
            shown = capsys.readouterr().out
            assert all(f"{word.partition('=')[0]} " in shown for word in words if word.startswith("--")), line


def test_the_files_that_readme_and_contributing_name_are_there():
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text()
        for name in re.findall(r"\]\(([^)#:]+)[)#]", text):
            assert (ROOT / name).exists(), name
        assert text.count("\n") <= {"README.md": 130, "CONTRIBUTING.md": 80}[page]
    for name in ("start", "test"):
        assert os.access(ROOT / name, os.X_OK)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_run(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documentation, built with warnings as errors."""
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(site):
    pages = {path: path.read_text() for path in site.rglob("*.html") if path.parent.name != "gallery"}
    places = {path: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for path, text in pages.items()}
    assert len(pages) > 30
    for page, text in pages.items():
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            if page.name == "404.html" or re.match(r"[a-z]+:|#?$|//", link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), (page.name, link)
            if anchor and target in places and not anchor.startswith("__"):
                assert anchor in places[target], (page.name, link)


@pytest.mark.slow
def test_the_gallery_plays_and_the_reference_has_signatures(site):
    played = [*(site / "gallery").glob("*.html")]
    assert played
    assert all("<script" in page.read_text() for page in played)
    reference = (site / "reference" / "losses.html").read_text()
    assert "embedding_dim" in reference
    assert "dmlviz.losses.build" in reference


@pytest.mark.slow
def test_the_notebooks_run(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebooks = [nbformat.read(path, as_version=4) for path in sorted((ROOT / "examples").glob("*.ipynb"))]
    assert len(notebooks) >= 5
    cells = [cell for notebook in notebooks for cell in notebook.cells]
    assert all(not cell.get("outputs") for cell in cells)  # kept without what they gave here
    # One kernel, which imports torch once, and forgets all names before each notebook.
    forget = "from IPython import get_ipython\nget_ipython().reset()"
    everything = nbformat.v4.new_notebook()
    for notebook in notebooks:
        everything.cells += [nbformat.v4.new_code_cell(forget), *notebook.cells]
    nbclient.NotebookClient(everything, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    assert all(any(cell.get("outputs") for cell in notebook.cells) for notebook in notebooks)
