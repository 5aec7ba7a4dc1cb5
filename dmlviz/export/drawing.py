"""Figures for a paper or a slide: SVG and PDF with text as text, and PNG, from the figures that the pages show."""

import html
import textwrap
import warnings
from collections.abc import Collection
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.export_formats import FIGURES
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.export.moments import moments
from dmlviz.export.painted import flat, groups
from dmlviz.figures import data, drawing
from dmlviz.figures.style import GROUND, LINE, MUTED, TEXT

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from matplotlib.figure import Figure

MM = 1 / 25.4  # inches
COLUMN = 120  # mm: up to this width letters are those of a paper, beyond it those of a slide
LEGEND = 20  # classes named at most
DASHES = {"dot": ":", "dash": "--"}
FONTS = ("Noto Sans CJK JP", "Noto Sans", "Arial Unicode MS", "Microsoft YaHei", "Hiragino Sans")  # for other scripts
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "text.color": TEXT["light"],
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": LINE["light"],
    "axes.labelcolor": MUTED["light"],
    "xtick.color": MUTED["light"],
    "ytick.color": MUTED["light"],
    "legend.frameon": False,
}


def write_svg(export: RunExport, file: IO[bytes]) -> None:
    """Write the figure `export.look.figure` as SVG, with text as text."""
    _write(export, file, "svg", {"Date": None})


def write_pdf(export: RunExport, file: IO[bytes]) -> None:
    """Write the figure as PDF, with its fonts in the file."""
    _write(export, file, "pdf", {"CreationDate": None})


def write_png(export: RunExport, file: IO[bytes]) -> None:
    """Write the figure as PNG, of 96 pixels an inch times `export.look.scale`."""
    _write(export, file, "png", {})


def _write(export: RunExport, file: IO[bytes], kind: str, metadata: dict[str, Any]) -> None:
    """Write a file; equal figures are equal files, without the time."""
    if problem := export.problem(kind):
        raise UserError(problem)
    _ = export.embeddings, FIGURES[export.look.figure]
    import matplotlib as mpl
    from matplotlib.font_manager import fontManager

    look = export.look
    families = ["DejaVu Sans", *(name for name in FONTS if name in {font.name for font in fontManager.ttflist})]
    letters: Any = {
        "font.family": families,
        "font.size": 6.5 if look.width <= COLUMN else 13,
        "svg.hashsalt": export.run.id,
    } | STYLE
    with mpl.rc_context(letters), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if look.figure == "map":
            figure = _map(export)
        else:
            figure = _drawn(drawing.draw(look.figure, data.measure(look.figure, export.run, look.step)), look.width)
        figure.savefig(file, format=kind, dpi=96 * look.scale if kind == "png" else 300, metadata=metadata)
    if kind != "svg" and any("missing from" in str(one.message) for one in said):
        raise UserError(
            f"No font of this machine has all letters of the class names, which a {kind.upper()} holds: write SVG, "
            "which takes the reader's fonts, or install Noto Sans CJK."
        )


def _map(export: RunExport) -> "Figure":
    """Draw the map as its player shows it at the step that is looked at."""
    kept, look, projection = moments(export), export.look, export.projection
    upto = [one for one in kept if look.step is None or one.step <= look.step]  # as the player shows a step
    shown = (upto or kept[:1])[-1]
    rows = np.searchsorted(export.items, shown.items)
    seen = ~np.isin(export.labels[rows], list(look.hidden)) & np.isfinite(shown.places).all(axis=1)
    if not seen.any():
        raise UserError("All classes are hidden: show one.")
    painted, area = groups(export), look.area
    places, ids, items = shown.places[seen], painted.of[rows][seen], shown.items[seen]
    spec = PROJECTIONS[export.view]
    seed = export.run.config.seed if projection is None else projection.config.seed
    dataset = DATASETS[export.run.config.dataset]
    when = f", step {shown.step:,}" if dataset.trainable or export.run.recorded else ""
    quality = (("trustworthiness", "trustworthiness"), ("neighbors_kept", "neighbors kept"))
    facts = [
        f"{dataset.title}{when}: {len(items):,} {dataset.said('images')}",
        f"{len(rows) - len(items):,} more in hidden classes" if len(items) < len(rows) else "",
        shown.words,
        *(f"{title} {shown.quality[name]:.3f}" for name, title in quality if shown.quality.get(name) is not None),
        f"{spec.title}, seed {seed}",
        f"{export.note[:1].lower()}{export.note[1:]}".rstrip("."),
        f"colored by {look.color}" if look.color != "class" else "",
        "a part of the map" if area else "",
        "" if spec.linear else "no scale: distances between groups mean nothing",
    ]
    selected = np.isin(items, list(look.selected))
    facts.insert(2, f"{selected.sum():,} selected, the others pale" if selected.any() else "")
    title, caption = f"{export.run.title}: {spec.title}", "; ".join(filter(None, facts))
    center, half = np.array(shown.box.center), shown.box.scale
    if len(center) == 3:  # as the page sees it, what is behind first
        places = flat(places, center, look.turn)
        order, center, half = np.argsort(places[:, 2]), np.zeros(2), half * np.sqrt(2)
        places, ids, items, selected = places[order, :2], ids[order], items[order], selected[order]
    source = drawing.draw_map(places, ids, items, painted.names, title, caption)
    for trace, group in zip(source.data, np.unique(ids), strict=True):
        trace.marker.color = painted.colors[group]
    named = {"class": painted.names, "error": painted.names[:-1]}.get(look.color, ())
    figure = _drawn(source, look.width, named)
    (pane,) = figure.axes
    left, bottom, right, top = area if area and len(shown.box.center) == 2 else (-1, -1, 1, 1)
    pane.set(xlim=center[0] + half * np.array([left, right]), ylim=center[1] + half * np.array([bottom, top]))
    if selected.any():  # as on the page
        for points in pane.collections:
            points.set_facecolor(_pale(points.get_facecolor()))  # type: ignore[arg-type]
        colors = [painted.colors[group] for group in ids[selected]]
        x, y = places[selected].T
        pane.scatter(x, y, s=_diameter(len(items), look.width) ** 2, color=colors, linewidths=0)
    if spec.linear and len(shown.box.center) == 2:
        length = 10.0 ** np.floor(np.log10(half * (right - left) / 2))
        x, y = center[0] + half * right, center[1] + half * bottom
        pane.plot([x - length, x], [y, y], color=MUTED["light"], linewidth=1, clip_on=False)
        pane.text(x - length / 2, y, f"{length:g}", ha="center", va="bottom", color=MUTED["light"])
    return figure


def _drawn(source: "go.Figure", width: float, named: Collection[str] = ()) -> "Figure":
    """Draw a figure of Plotly, of the kinds that `dmlviz.figures` makes, so many mm wide, with these names on a map."""
    from matplotlib.figure import Figure

    layout, traces = source.layout, [trace.to_plotly_json() for trace in source.data]
    is_map = layout.xaxis.visible is False
    ratio = 9 / 16 if width > COLUMN else 1.15 if is_map else 0.8
    figure = Figure((width * MM, width * MM * ratio), layout="constrained")
    heights = [layout[name] for name in ("yaxis", "yaxis2") if name in layout.to_plotly_json()]
    panes = figure.subplots(max(1, len(heights)), 1, sharex=True, squeeze=False)[:, 0]
    size = _diameter(sum(len(trace["x"]) for trace in traces), width) if is_map else None
    for trace in traces:
        _draw(panes[int(trace.get("yaxis") == "y2")], trace, size, named)
    for pane, y in zip(panes, heights, strict=False):
        _set_axes(pane, layout.xaxis, y)
        if is_map:
            pane.set_axis_off()
            pane.set_aspect("equal")
    panes[-1].set_xlabel(layout.xaxis.title.text or "")
    points = (
        figure.get_figwidth() * 72 / float(panes[0].xaxis.label.get_fontsize())
    )  # letters as wide as high in a line
    title, caption = (textwrap.fill(text, int(wide * points)) for text, wide in _words(source))
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize="large")
    figure.supxlabel(caption, x=0.01, ha="left", fontsize="medium", color=MUTED["light"])
    handles = {
        str(label): handle for pane in panes for handle, label in zip(*pane.get_legend_handles_labels(), strict=True)
    }
    if handles and layout.showlegend is not False:
        entries = [*handles.items()][:LEGEND]
        more = f"and {len(handles) - LEGEND:,} more" if len(handles) > LEGEND else None
        columns = min(len(entries), max(1, int(points / (0.6 * max(len(name) for name, _ in entries) + 4))))
        shown = dict(entry for column in range(columns) for entry in entries[column::columns])  # read row by row
        place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": columns, "title": more}
        tight = {"columnspacing": 1, "handletextpad": 0.4, "handlelength": 0.8 if is_map else 1.5}
        legend = panes[0].legend(shown.values(), shown, **place, **tight)
        for handle in legend.legend_handles if is_map else ():
            handle.set_sizes([0.3 * float(panes[0].xaxis.label.get_fontsize()) ** 2])
    return figure


def _words(source: "go.Figure") -> list[tuple[str, float]]:
    """Return title and caption, with how many letters fit where one as wide as high does."""
    return [(html.unescape(source.layout.meta["title"]), 1.35), (html.unescape(source.layout.meta["about"]), 1.8)]


def _diameter(count: int, width: float) -> float:
    """Return the diameter in points of one of so many points of a map."""
    return float(np.clip(55 / count**0.5, 0.9, 3.5)) * (2 if width > COLUMN else 1)


def _pale(colors: Any) -> np.ndarray:
    """Return the colors (n × 4) of points that are not selected, as the page has them."""
    from matplotlib.colors import to_rgba

    muted, ground = (np.array(to_rgba(color["light"])) for color in (MUTED, GROUND))
    return 0.4 * (0.25 * np.asarray(colors) + 0.75 * muted) + 0.6 * ground


def _draw(pane: Any, trace: dict[str, Any], size: float | None, named: Collection[str]) -> None:
    marker, line, mode = trace.get("marker", {}), trace.get("line", {}), trace.get("mode", "")
    label = html.unescape(trace.get("name") or "") if trace.get("showlegend") is not False else ""
    label = label.lstrip(": ") or "_nolegend_"
    if trace["type"] == "heatmap":
        _draw_cells(pane, trace)
    elif trace["type"] == "bar":
        bars = {"color": marker["color"], "alpha": marker.get("opacity", 1), "label": label, "linewidth": 0}
        pane.bar(trace["x"], trace["y"], trace["width"], **bars)
    elif "lines" in mode:
        style = {"color": line["color"], "linewidth": 0.6 * line.get("width", 2), "label": label}
        pane.plot(trace["x"], trace["y"], linestyle=DASHES.get(line.get("dash"), "-"), **style)
    elif marker.get("opacity") != 0:
        axes = trace["x"], trace["y"]
        area = 0.3 * marker.get("size", 6) ** 2 if size is None else size**2
        edge = {"edgecolors": GROUND["light"], "linewidths": 0.3 if area > 3 else 0}
        pane.scatter(*axes, s=area, color=marker["color"], label=label, **edge)
        if size is not None and label in named:  # as on the page, the name in the middle
            box = {"facecolor": GROUND["light"], "alpha": 0.7, "linewidth": 0, "pad": 0.6}
            middle = [float(np.median(axis)) for axis in axes]
            pane.text(*middle, label, ha="center", va="center", bbox=box, clip_on=True)
    if "text" in mode:
        for x, y, text in zip(trace["x"], trace["y"], trace["text"], strict=True):
            words = html.unescape(str(text or ""))
            pane.annotate(words, (x, y), (3, -3), textcoords="offset points", va="top", color=MUTED["light"])


def _draw_cells(pane: Any, trace: dict[str, Any]) -> None:
    """Draw a matrix; its cells without a value show what lies below."""
    from matplotlib.colors import LinearSegmentedColormap

    values = np.array(trace["z"], float)
    colors = LinearSegmentedColormap.from_list("cells", [(float(at), color) for at, color in trace["colorscale"]])
    pane.imshow(np.ma.masked_invalid(values), cmap=colors, vmin=trace.get("zmin"), vmax=trace.get("zmax"))
    for (row, column), value in np.ndenumerate(values):
        if value == value and (text := trace["text"][row][column]):
            pane.text(column, row, html.unescape(str(text)), ha="center", va="center", fontsize="small")


def _set_axes(pane: Any, x: Any, y: Any) -> None:
    """Set titles, ranges, kinds and ticks of the axes as Plotly has them."""
    for name, axis in (("x", x), ("y", y)):
        if axis.type == "log":
            pane.set(**{f"{name}scale": "log"})
        if axis.range is not None and axis.type != "category":
            pane.set(**{f"{name}lim": axis.range})
        if axis.rangemode == "tozero":
            pane.set(**{f"{name}lim": (0, None)})
        if axis.tickvals is not None:
            ticks = range(len(axis.tickvals)) if axis.type == "category" else axis.tickvals
            words = [html.unescape(str(text)) for text in axis.ticktext or axis.tickvals]
            pane.set(**{f"{name}ticks": ticks, f"{name}ticklabels": words})
    pane.minorticks_off()
    pane.set_ylabel(y.title.text or "")
    if y.scaleanchor == "x":
        pane.set_aspect("equal")
