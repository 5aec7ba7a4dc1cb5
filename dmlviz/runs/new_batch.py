"""New images over the map of a run, which stays: where they lie, whether they are of the same cloud, what drifted."""

import math
import re
import zipfile
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import idx, load
from dmlviz.data.class_names import UNLABELED, label_text, short_names
from dmlviz.data.embedding_file import SUFFIXES, LabeledEmbeddings, how_to_save, read_embeddings
from dmlviz.data.image_ops import as_pixels
from dmlviz.data.table_file import Choice, suffix_of
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.metrics.classification import majority_vote
from dmlviz.metrics.two_sample import (
    FEWEST,
    PERMUTATIONS,
    K,
    PooledNeighbors,
    TwoSampleTest,
    holm,
    pooled_neighbors,
    two_sample_test,
)
from dmlviz.ops.ball import curvature_of
from dmlviz.projection.out_of_sample import NUM_STARTS, Placement, alike
from dmlviz.runs.answers import NewBatchContent
from dmlviz.runs.gallery import read_named
from dmlviz.runs.projection_run import projected_items
from dmlviz.runs.run import ProjectionRun, Run
from dmlviz.storage.arrays import read_array, read_arrays
from dmlviz.storage.text import counted

FAR = 0.99  # of the test images are nearer to another one than a new image that nothing is near to
MOST_BY_LOSS = 500  # on t-SNE and UMAP; more lie between their nearest neighbors, for the time it takes
MOST_PERMUTATIONS = 9999
SHOWN, MOST_SAID = 10, 20  # far images; sentences on how a file was read
SURE, ALIKE, LITTLE = 0.05, 0.99, 0.55  # p-values; share of neighbors of one's own side
# Images or vectors, the class name of each, what it is called, how they were read, and what could not be.
Given = tuple[list[np.ndarray], list[str], list[str], list[str], list[str]]
AGAIN = "Bring the whole file again."
_NO_CHOICE = re.compile(r" \(choose [\w ]+ with --\w+\)|[;,] (or )?choose [\w ]+ with --\w+")  # the map has chosen


@dataclass(frozen=True)
class ClassDrift:
    """The test of the images of a class: its ID, the result, and the p-value by Holm for all classes."""

    label: int
    test: TwoSampleTest
    p: float


@dataclass(frozen=True)
class NewBatch:
    """New images over a map.

    Attributes:
        embeddings: Their embeddings (n × d).
        places: Their places on the map (n × 2 or 3).
        labels: Their class IDs (n): given, or else the most frequent of the 5 nearest test images; -1 for a class
            that the run does not have.
        labeled: Whether labels were given.
        nearest: The nearest test image of each (n).
        distances: Its distance (n).
        far: The images whose nearest test image is farther than that of 99% of the test images, the farthest first.
        limit: That distance.
        overall: The test of all images; None for fewer than five.
        classes: The tests of the classes with five images or more on both sides, those that drifted first.
        unknown: The number of images without a class of the run, where others have one, or theirs is another.
        repeated: The number of images that equal an earlier one.
    """

    embeddings: np.ndarray
    places: np.ndarray
    labels: np.ndarray
    labeled: bool
    nearest: np.ndarray
    distances: np.ndarray
    far: np.ndarray
    limit: float
    overall: TwoSampleTest | None
    classes: list[ClassDrift]
    unknown: int
    repeated: int


def place(run: Run, images: np.ndarray, names: Sequence[str] = (), projection: ProjectionRun | None = None) -> NewBatch:
    """Embed new images, place them on a map of the run and compare them with its test images.

    The map stays as it is. The test images are the right ones to compare with: the net was not trained on them either.

    Args:
        run: A finished run with a net.
        images: Images (uint8, n × h × w or n × h × w × 3), prepared as those of the run's data set.
        names: The class name of each, "" for none; by default none has a name.
        projection: A finished projection of the run; None for its own view.

    Raises:
        UserError: If the run has no net or is not finished, or for images of another size.

    Examples:
        `place(Runs(folder).find("latest"), data.load("fashion_mnist").test.images).overall`
    """
    from dmlviz.runs.embed import CHUNK, embed  # loads torch

    if run.embeddings is None:
        raise run.lacks("embeddings of all test images")
    if not len(images):
        raise UserError("A new batch has at least one image.")
    parts = [embed(run, images[at : at + CHUNK]) for at in range(0, len(images), CHUNK)]
    repeated = len(images) - len({image.tobytes() for image in images})
    return replace(place_embeddings(run, np.concatenate(parts), names, projection), repeated=repeated)


def place_embeddings(
    run: Run, new: np.ndarray, names: Sequence[str] = (), projection: ProjectionRun | None = None
) -> NewBatch:
    """Place new embeddings on a map of the run and compare them with those of its test images, as `place` does.

    Args:
        run: A finished run.
        new: Embeddings (m × d) by the run's net; of a run without one, vectors as it was made of.
        names: The class name of each, "" for none; by default none has a name.
        projection: A finished projection of the run; None for its own view.

    Raises:
        UserError: If the run is not finished, or for embeddings of another dimension.

    Examples:
        `place_embeddings(run, numpy.load("today.npy")).overall`
    """
    old, known = run.embeddings, run.known_labels
    if old is None:
        raise run.lacks("embeddings of all test images")
    new = alike(new, old.shape[1])
    if not (np.isfinite(old).all() and np.isfinite(new).all()):
        raise UserError(f"The net of {run.title} gives NaN or infinity: its training diverged. Choose another run.")
    pooled = pooled_neighbors(old, new, across=NUM_STARTS)
    distances, limit = pooled.distances[:, 0], float(np.quantile(pooled.within, FAR))
    classes = DATASETS[run.config.dataset].classes
    own = {name: label for label, name in enumerate(classes) if name != UNLABELED}
    given = np.array([own.get(name, -1) for name in names], np.int64)
    labeled = bool((given >= 0).any())
    of_new = given if labeled else majority_vote(known[pooled.nearest[:, :K]])
    far = np.flatnonzero(distances > limit)
    return NewBatch(
        new,
        _places(run, projection, old, new, pooled),
        of_new,
        labeled,
        pooled.nearest[:, 0],
        distances,
        far[np.argsort(-distances[far], kind="stable")],
        limit,
        two_sample_test(pooled) if min(pooled.sizes) >= FEWEST else None,
        _drifts(old, known, new, of_new),
        int(np.count_nonzero(of_new < 0)) if labeled else sum(map(bool, names)),
        len(new) - len({row.tobytes() for row in new}),
    )


def embeddings_of(run: Run) -> tuple[np.ndarray, list[str]]:
    """Return the vectors of a run without a net, and the name of each one's class, "" for none."""
    if run.embeddings is None:
        raise run.lacks("embeddings")
    classes = DATASETS[run.config.dataset].classes
    return run.embeddings, [classes[label] if label >= 0 else "" for label in run.known_labels]


def of_file(run: Run, path: Path) -> Given:
    """Return the pictures of a picture, array, table of pixels, zip or folder; for a run without a net, rows of a file.

    The columns of a table are found by the names of those of the map.

    Raises:
        UserError: For a file that cannot be read, or whose vectors are others.
    """
    if DATASETS[run.config.dataset].trainable:
        return _pictures(run, path)
    columns = tuple(run.info.get("vector", ()))
    of_map = f" The map of {run.title} is of {', '.join(columns)}." if columns else ""
    try:
        rows = read_embeddings(path, choice=Choice(vector=columns), least=1)
    except UserError as error:
        unnamed = _without_names(path, columns)
        if unnamed is None:
            raise UserError(_NO_CHOICE.sub("", str(error)) + of_map) from None
        rows = unnamed
    if (given := rows.embeddings.shape[1]) != (own := run.config.embedding_dim):
        raise UserError(f"The map of {run.title} is of {own}-d vectors; {path.name} holds {given}-d ones.")
    classes = ["" if name == UNLABELED else name for name in rows.classes]
    titles = [f"{path.name} row {number + 1}" for number in range(len(rows.labels))]
    notes = [_NO_CHOICE.sub("", note) for note in rows.notes]
    return [*rows.embeddings], [classes[label] for label in rows.labels], titles, notes, []


def _pictures(run: Run, path: Path) -> Given:
    alone = path.is_file() and bool(_is_array(path.name) or how_to_save(path.name))
    pictures = [] if alone else [one for one in read_named(run, path) if not _is_array(one.path)]
    found = [one for one in pictures if not one.refused]
    hints = [f"{one.path}: {hint}" for one in found for hint in one.hints]
    failures = [f"{one.path}: {one.refused}" for one in pictures if one.refused]
    images, names, titles = [one.image for one in found], [one.name for one in found], [one.path for one in found]
    with TemporaryDirectory() as unpacked:
        files = [path] if alone else [one for one in sorted(path.rglob("*")) if _is_array(one.name)]
        if path.is_file() and not alone and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:  # whose size `read_named` has checked
                files = [Path(archive.extract(one, unpacked)) for one in archive.namelist() if _is_array(one)]
        names_of = {file: idx.parse_name(file.name) for file in files}
        for file, own in names_of.items():
            if own and own.kind == "labels" and own._replace(kind="images") in names_of.values():
                continue
            try:
                pixels, labels = _read_pixels(file, DATASETS[run.config.dataset])
            except DamagedFileError as error:
                failures.append(f"{file.name} could not be read ({error.reason}): save it again.")
            except UserError as error:
                failures.append(_NO_CHOICE.sub("", str(error).replace(f"{file.parent}/", "")))
            else:
                images.extend(pixels)
                names.extend(labels)
                titles.extend(f"{file.name} {number + 1}" for number in range(len(pixels)))
    return images, names, titles, hints, failures or [f"{path.name}: There is no picture in it."] * (not images)


def _is_array(name: str) -> bool:
    is_idx = idx.parse_name(Path(name).name) or re.search(r"(idx\d|ubyte)(\.gz)?$", name)
    return Path(name).name[0] != "." and bool(suffix_of(name) in SUFFIXES or is_idx)


def _read_pixels(path: Path, spec: DatasetSpec) -> tuple[np.ndarray, list[str]]:
    """Return the images of an array, IDX file or table, as large as those of a data set, and each one's class name."""
    name, suffix, named = path.name, suffix_of(path), idx.parse_name(path.name)
    beside = named and named._replace(kind="labels")
    form, labels = (spec.size, spec.size, 3)[: 3 if spec.channels == 3 else 2], list[object]()
    if suffix == ".npy":
        images = np.asarray(read_array(path))
    elif suffix == ".npz":
        images, *others = sorted(read_arrays(path).values(), key=np.size, reverse=True) or [np.empty(0)]
        labels = [label for one in others for label in one.ravel().tolist()]
    elif suffix in SUFFIXES or how_to_save(name):
        rows = read_embeddings(path, least=1)
        images, labels = rows.embeddings, [rows.classes[label] for label in rows.labels if rows.labeled]
        if not rows.labeled and images.shape[1] == math.prod(form) + 1:  # without names, the label comes first
            images, labels = images[:, 1:], images[:, 0].tolist()
    else:
        images = idx.read(path, 3, AGAIN)
        images = images.swapaxes(1, 2) if "emnist" in name.lower() else images  # they lie on their sides
    for one in sorted(path.parent.iterdir()) if beside and not labels else ():
        if idx.parse_name(one.name) == beside:
            labels = idx.read(one, 1, AGAIN).tolist()
    pixels = as_pixels(images.reshape(-1, *form) if images.shape[1:] == (math.prod(form),) else images, name)
    if pixels.shape[1:] != form or not len(pixels) or len(labels) not in (0, len(pixels)):
        own, given = (" × ".join(map(str, sides)) or "one number" for sides in (form, images.shape))
        raise UserError(
            f"Images for this map are n × {own}, with a label of each or none; {name} has {given} and {len(labels):,} "
            "labels: save them so, or as pictures, which are fitted."
        )
    return pixels, ["" if one == UNLABELED else one for one in map(label_text, labels)] or [""] * len(pixels)


def _without_names(path: Path, columns: Sequence[str]) -> LabeledEmbeddings | None:
    """Return a table of as many columns as a map has, and no names; None for another."""
    with suppress(UserError):
        rows = read_embeddings(path, least=1)
        if columns and len(rows.vector) == len(columns) and rows.vector[0] == "f0":
            taken = f"its columns are taken in the order of the map: {', '.join(columns)}."
            return replace(rows, notes=(f"{path.name} has no row of names; {taken}",))
    return None


def images_of(run: Run, dataset: str, root: Path | None = None) -> tuple[np.ndarray, list[str]]:
    """Return the test images of a data set that lie over a run's map, and the name of each one's class, "" for none.

    Raises:
        UserError: If the map shows that data set, or the net takes other images.
    """
    own, spec = DATASETS[run.config.dataset], DATASETS[dataset]
    if dataset == own.name:
        raise UserError(f"{spec.title} is what the map shows: give another data set, or files.")
    if not own.takes_images_of(spec):
        raise UserError(
            f"{run.title} takes images of {_shape(own)}; those of {spec.title} have {_shape(spec)}: give them "
            "as files, which are prepared."
        )
    part = load(dataset, root).test
    return part.images, [spec.classes[label] if label >= 0 else "" for label in part.labels]


def verdict(test: TwoSampleTest) -> str:
    """Return what a test of new images against test images says, in a sentence."""
    if test.p > ALIKE:
        said = "They are nearer to the test images than chance allows: perhaps these once more, changed"
    elif test.p > SURE:
        said = "Nothing says that they are of another cloud"
    else:
        few = min(test.sizes) <= 0.2 * max(test.sizes)  # few among many are hardly neighbors
        said = "They are of another cloud" + ("" if few or test.share >= LITTLE else ", by very little")
    own = f"{100 * test.share:.3g}% of the nearest neighbors are of one's own side, 50% for one cloud"
    return f"{said}: {own} (p {test.p:.2g})."


def as_content(run: Run, items: np.ndarray, batch: NewBatch, said: Sequence[str] = ()) -> NewBatchContent:
    """Return what the page shows of a new batch, of these images or vectors; `said` is how they were read."""
    from dmlviz.data.sprite_sheet import png_of  # loads Pillow

    classes, far = short_names(DATASETS[run.config.dataset].classes), batch.far[:SHOWN]
    return {
        "places": [[float(f"{x:.4g}") for x in place] for place in batch.places],
        "labels": batch.labels.tolist() if batch.labeled else None,
        "said": [
            *sentences(run, batch),
            *said[:MOST_SAID],
            *[f"And {len(said) - MOST_SAID:,} more."] * (len(said) > MOST_SAID),
        ],
        "classes": [
            (classes[one.label], one.test.sizes[1], one.test.sizes[0], one.test.share, one.p) for one in batch.classes
        ],
        "far": "" if items.ndim < 3 or not far.size else b64encode(png_of(items[far], len(far))).decode(),
    }


def sentences(run: Run, batch: NewBatch) -> list[str]:
    """Return what a new batch is, whether it is of the same cloud, and how many of its images nothing is near to."""
    spec = DATASETS[run.config.dataset]
    count, old = len(batch.places), 0 if run.labels is None else len(run.labels)
    said = [f"{counted(count, 'new image')} over the {old:,} test images of {run.title}."]
    said.append("Too few images for a test: it needs five." if batch.overall is None else verdict(batch.overall))
    if batch.repeated:
        again = counted(batch.repeated, "image is", "images are")
        said.append(f"{again} there again: equal ones are neighbors of one's own side.")
    if batch.classes and not batch.labeled:
        said.append("An image is counted for the class of the test images nearest to it.")
    if batch.unknown:
        said.append(f"{counted(batch.unknown, 'image')} without a class of the run.")
    said.append(
        f"{counted(len(batch.far), 'image')} farther than {batch.limit:.3g} from all test images, as 1% of these are "
        f"from each other: {(1 - FAR) * count:.3g} would be usual."
    )
    return [spec.said(sentence) for sentence in said]


def _shape(spec: DatasetSpec) -> str:
    return f"{spec.size} × {spec.size} pixels in {'color' if spec.channels == 3 else 'gray'}"


def _drifts(old: np.ndarray, labels: np.ndarray, new: np.ndarray, of_new: np.ndarray) -> list[ClassDrift]:
    counts = [np.bincount(ids[ids >= 0], minlength=int(labels.max(initial=0)) + 1) for ids in (labels, of_new)]
    names = np.flatnonzero((counts[0] >= FEWEST) & (counts[1][: len(counts[0])] >= FEWEST))
    permutations = int(np.clip(40 * len(names) - 1, PERMUTATIONS, MOST_PERMUTATIONS))  # Holm multiplies by the number
    parts = [pooled_neighbors(old[labels == name], new[of_new == name]) for name in names]
    tests = [two_sample_test(part, permutations) for part in parts]
    drifts = [
        ClassDrift(int(name), test, p)
        for name, test, p in zip(names, tests, holm([test.p for test in tests]), strict=True)
    ]
    return sorted(drifts, key=lambda one: (one.p, -one.test.share))


def _places(
    run: Run, projection: ProjectionRun | None, old: np.ndarray, new: np.ndarray, pooled: PooledNeighbors
) -> np.ndarray:
    if projection is None:
        if run.linear_projection is None:
            raise run.lacks("map")
        return run.linear_projection.project(new)
    coordinates, config = projection.coordinates, projection.config
    if coordinates is None or not config.whole:
        raise UserError("New images lie on a finished map of the end of a run: compute one with dmlviz project.")
    inputs = config.cut(old[projected_items(run, config)])
    found = inputs.shape == old.shape and not curvature_of(old)  # among all, in the same space
    known = (np.square(pooled.distances), pooled.nearest) if found else None
    return Placement(config, inputs, coordinates).place(config.cut(new), len(new) > MOST_BY_LOSS, known)
