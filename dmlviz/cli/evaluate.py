"""`dmlviz evaluate`: compute all metrics of a run, or of files of queries and a gallery."""

import math
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.table import Table

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.metrics import format_score
from dmlviz.cli import RUN, DataFolder, JsonFile, RunsFolder, console_beside, single_command_app, write_results
from dmlviz.data import data_root
from dmlviz.data.class_names import has_label
from dmlviz.data.search_files import SearchFile, read_search_files
from dmlviz.errors import UserError
from dmlviz.ops.labels import is_missing
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs, runs_folder

app = single_command_app()


@app.command()
def evaluate(
    run: Annotated[str | None, RUN] = None,
    runs: RunsFolder = None,
    confusion: Annotated[bool, typer.Option("--confusion", help="also print the confusion matrix")] = False,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="also re-rank by k-reciprocal neighbors, and print the scores beside")
    ] = False,
    multi_query: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="also pool N queries of a class (and camera) into one, and print the scores beside"
        ),
    ] = None,
    crops: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="also embed each test image in N shifted copies (9 or 25), and print the scores beside"
        ),
    ] = None,
    data: DataFolder = None,
    query: Annotated[
        Path | None, typer.Option(metavar="FILE", help="embeddings of queries with labels, in place of a run")
    ] = None,
    gallery: Annotated[
        Path | None, typer.Option(metavar="FILE", help="embeddings to search (default: the queries themselves)")
    ] = None,
    camera: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="column or array of cameras in these files: matches of one identity and one camera are left out",
        ),
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Compute all metrics of a run on its test images, or of queries against a gallery.

    Retrieval, clustering, verification, embedding geometry. Files are npz, csv, tsv or parquet, with an array or a
    column called label.
    """
    if (run is None) == (query is None):
        number = "neither" if run is None else "both"
        raise UserError(f"evaluate takes a run, or files by --query FILE [--gallery FILE]; got {number}: give one.")
    if crops is not None and query is not None:
        raise UserError("--crops goes with a run, whose net embeds the crops; got --query: leave one of them out.")
    if query is not None:
        _evaluate_files(query, gallery, camera, confusion, rerank, multi_query, json_file)
    elif gallery is not None or camera is not None:
        raise UserError("--gallery and --camera go with --query FILE; got a run: leave them out, or give files only.")
    else:
        _evaluate_run(str(run), runs, confusion, rerank, multi_query, crops, data, json_file)


def _evaluate_files(
    query: Path,
    gallery: Path | None,
    camera: str | None,
    confusion: bool,
    rerank: bool,
    multi_query: int | None,
    json_file: Path | None,
) -> None:
    from dmlviz import metrics

    files = read_search_files(query, gallery, camera)
    queries, others = files.queries, files.gallery
    place = "themselves" if others is None or gallery is None else f"{len(others.labels):,} in {gallery.name}"
    left_out = "" if camera is None else f"; matches of one class and one {camera} left out"
    if missing := sum(int(is_missing(part.labels).sum()) for part in (queries, others) if part is not None):
        left_out += f"; {missing:,} without a label left out"
    console = console_beside(json_file)
    for note in files.notes:
        console.print(note, soft_wrap=True, markup=False)
    console.print(
        f"{len(queries.labels):,} queries of {query.name} ({queries.embeddings.shape[1]}-d) search {place}{left_out}",
        soft_wrap=True,
        markup=False,
    )
    arrays: dict[str, Any] = {"cameras": queries.cameras}
    if others is not None:
        arrays |= {
            "gallery": others.embeddings,
            "gallery_labels": others.labels,
            "gallery_cameras": others.cameras,
        }
    results: dict[str, Any] = {"scores": metrics.evaluate(queries.embeddings, queries.labels, **arrays)}
    console.print(_score_table(results["scores"]))
    if rerank:
        results["reranked"] = metrics.reranked(queries.embeddings, queries.labels, **arrays)
        console.print(_reranked_table(results))
    if multi_query is not None:
        results["multi_query"] = _pooled_scores(multi_query, rerank, queries, others)
        console.print(_beside(_POOLED, results["multi_query"]))
    if confusion:
        names, counts = metrics.confusion(queries.embeddings, queries.labels, **arrays)
        results["confusion"] = {"classes": [files.classes[name] for name in names], "counts": counts.tolist()}
        console.print(_confusion_table(results["confusion"]["classes"], counts))
    write_results(json_file, results)


def _evaluate_run(
    run: str,
    runs: Path | None,
    confusion: bool,
    rerank: bool,
    multi_query: int | None,
    crops: int | None,
    data: Path | None,
    json_file: Path | None,
) -> None:
    from dmlviz import metrics

    source = Runs(runs_folder(runs)).find(run)
    embeddings, labels = source.embeddings, source.labels
    if embeddings is None or labels is None:
        raise source.lacks("embeddings of all test images")
    spec = DATASETS[source.config.dataset]
    if crops is not None and not spec.trainable:
        raise UserError(f"Copies are of images that a net here embeds; {source.title} has none: leave out --crops.")
    mask = has_label(labels, spec.classes)
    embeddings, labels = embeddings[mask], labels[mask]
    if len({*labels.tolist()}) < 2:
        raise UserError(
            f"Scores compare classes; {source.title} has {'one' if len(labels) else 'no labels'}: add its data once "
            "more, with a label of two values or more."
        )
    console = console_beside(json_file)
    about = f"{source.title}: {len(labels):,} {spec.said('test images')} in {embeddings.shape[1]} dimensions"
    console.print(about, soft_wrap=True, markup=False)
    scores = metrics.evaluate(embeddings, labels, unseen=source.config.held_out_classes)
    # Scores that need the weights of the loss were computed at the end of the training.
    results: dict[str, Any] = {
        "scores": scores | {key: value for key, value in source.metrics.items() if key not in scores}
    }
    console.print(_score_table(results["scores"]))
    if lengths := source.config.prefixes:
        results["prefixes"] = {str(k): metrics.evaluate(_cut(embeddings, k, source), labels) for k in lengths}
        console.print(_prefix_table(results["prefixes"] | {f"all {embeddings.shape[1]}": scores}))
    if rerank:
        results["reranked"] = metrics.reranked(embeddings, labels)
        console.print(_reranked_table(results))
    if multi_query is not None:
        results["multi_query"] = _pooled_scores(multi_query, rerank, SearchFile(embeddings, labels, None))
        console.print(_beside(_POOLED, results["multi_query"]))
    if crops is not None:
        results["crops"] = _crop_scores(source, crops, scores, data)
        console.print(_beside(f"each test image in {crops} copies, shifted by a pixel", results["crops"]))
    if confusion:
        names, counts = metrics.confusion(embeddings, labels)
        classes = [spec.classes[name] for name in names]
        results["confusion"] = {"classes": classes, "counts": counts.tolist()}
        console.print(_confusion_table(classes, counts))
    write_results(json_file, results)


_POOLED = "several queries of a class (and camera) pooled into one, which search the same gallery"


def _pooled_scores(
    size: int, rerank: bool, queries: SearchFile, gallery: SearchFile | None = None
) -> dict[str, dict[str, float]]:
    """Return scores of single and of pooled queries; without a gallery, every other image of a class is a query."""
    from dmlviz import metrics
    from dmlviz.metrics.multi_query import every_other

    if gallery is None:
        asks = every_other(queries.labels, queries.cameras)
        queries, gallery = queries.of_rows(asks), queries.of_rows(~asks)
    among: Any = {"gallery": gallery.embeddings, "gallery_labels": gallery.labels, "gallery_cameras": gallery.cameras}
    search, found = partial(metrics.evaluate, clustering=False, full_ranking=False, verification=False), {}
    poolings: tuple[tuple[str, int, Literal["mean", "max"]], ...]
    poolings = (("one query", 1, "mean"), (f"mean of {size}", size, "mean"), (f"max of {size}", size, "max"))
    for name, number, pool in poolings:
        points, rows = metrics.pooled_queries(queries.embeddings, queries.labels, number, pool, cameras=queries.cameras)
        own = queries.of_rows(rows)
        for suffix, score in (("", search), (" re-ranked", metrics.reranked))[: 1 + rerank]:
            scores = score(points, own.labels, cameras=own.cameras, **among)
            found[name + suffix] = {key: scores[key] for key in _SEARCHED}
    return found


_SEARCHED = ("precision_at_1", "recall_at_5", "map_at_r", "mrr", "macro_map_at_r")


def _crop_scores(run: Run, crops: int, single: dict[str, float], root: Path | None) -> dict[str, dict[str, float]]:
    """Return the scores of one image, of the mean of its crops, and of their concatenation."""
    from dmlviz import metrics
    from dmlviz.data import load
    from dmlviz.runs.crops import COMBINATIONS, combine, embed_crops

    dataset = load(run.config.dataset, data_root(root))
    vectors = embed_crops(run, dataset.test.images, crops)
    reference = embed_crops(run, dataset.train.images[: max(1000, 4 * run.config.embedding_dim)], crops)
    return {"one image": single} | {
        f"{crops} crops, {name}": metrics.evaluate(combine(vectors, name, run.config, reference), dataset.test.labels)
        for name in COMBINATIONS
    }


def _cut(embeddings: np.ndarray, length: int, run: Run) -> np.ndarray:
    """Return the first dimensions of embeddings, of length 1 again where the run's are."""
    short = embeddings[:, :length]
    norms = np.linalg.norm(short, axis=1, keepdims=True) if run.config.normalize else np.ones(1, short.dtype)
    return short / np.where(norms > 0, norms, 1)


def _prefix_table(columns: dict[str, dict[str, float]]) -> Table:
    keys = ("precision_at_1", "map_at_r", "knn_accuracy")
    table = Table(box=None, pad_edge=False, title="the first dimensions alone")
    for name in ("dimensions", *keys):
        table.add_column(name, justify="right")
    for length, scores in columns.items():
        table.add_row(length, *(format_score(key, scores[key]) for key in keys))
    return table


def _reranked_table(results: dict[str, dict[str, float]]) -> Table:
    title = "re-ranked by k-reciprocal neighbors (k1 = 20, k2 = 6, λ = 0.3)"
    before = {key: results["scores"][key] for key in results["reranked"]}
    return _beside(title, {"before": before, "after": results["reranked"]})


def _beside(title: str, columns: dict[str, dict[str, float]]) -> Table:
    """Return a table with a row for each score, and the columns beside each other."""
    table = Table(box=None, pad_edge=False, title=title)
    for name in ("", *columns):
        table.add_column(name, justify="right" if name else "left", no_wrap=not name)
    for key in (key for key in next(iter(columns.values())) if "/" not in key):
        table.add_row(key, *(format_score(key, scores[key]) for scores in columns.values()))
    return table


def _score_table(scores: dict[str, float]) -> Table:
    """Return one row per metric; with held-out classes, one column each for all, seen and unseen classes."""
    groups = list(dict.fromkeys(key.split("/")[0] for key in scores if "/" in key))
    table = Table(box=None, show_header=bool(groups), pad_edge=False)
    table.add_column("")
    for name in ("all classes", *(f"{group} classes" for group in groups)):
        table.add_column(name, justify="right")
    for key in (key for key in scores if "/" not in key):
        table.add_row(
            key,
            *(format_score(key, scores.get(name, math.nan)) for name in (key, *(f"{group}/{key}" for group in groups))),
        )
    return table


def _confusion_table(names: list[str], counts: np.ndarray) -> Table:
    table = Table(box=None, pad_edge=False, title="rows: true class; columns: class of the nearest neighbor")
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    for name, row in zip(names, counts, strict=True):
        table.add_row(name, *(str(count) if count else "·" for count in row))
    return table
