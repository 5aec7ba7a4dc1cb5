"""Figures of any lab: what is drawn, kept, and shown small; numbers that papers print have one of ours beside them."""

import csv
import io
import re
import xml.etree.ElementTree as ElementTree

import pytest

from dmlviz.labs.drawing import draw
from dmlviz.labs.lab import FigureRow, FigureSpec, PrintedRow
from dmlviz.labs.lab_study import as_command, as_csv, as_page, as_script, ready_made, study_rows
from dmlviz.labs.printed import page, printed
from dmlviz.labs.registry import LABS
from dmlviz.labs.thumbnail import NAMESPACE, thumbnail

ROWS = [
    FigureRow(figure="f", series="a", x=1, y=0.5, low=0.4, high=0.7, n=3),
    FigureRow(figure="f", series="a", x=10, y=0.6),
    FigureRow(figure="f", series="b", x=1, y=0.2),
    FigureRow(figure="other", series="c", x=1, y=9),
]


def spec(kind, **options):
    return FigureSpec(name="f", title="T", caption="C.", kind=kind, x_title="x", y_title="y", **options)


@pytest.mark.parametrize("kind", ["line", "bar", "points"])
def test_rows_of_the_figure_are_drawn_with_their_intervals(kind):
    figure = draw(spec(kind, log_x=True), ROWS)
    assert [trace.name for trace in figure.data] == ["a", "b"]
    first = figure.data[0]
    assert (tuple(first.x), tuple(first.y)) == ((1, 10), (0.5, 0.6))
    assert tuple(first.error_y.array) == pytest.approx((0.2, 0))
    assert tuple(first.error_y.arrayminus) == pytest.approx((0.1, 0))
    assert list(first.customdata[1]) == ["a", 10]
    assert figure.layout.xaxis.type == "log"
    assert "n = 3" in first.text[0]


def test_a_logarithmic_axis_is_marked_where_the_values_are_or_at_powers_of_ten():
    rows = [FigureRow(figure="f", series="a", x=5 * 4**power, y=1) for power in range(7)]
    few, many = (draw(spec("line", log_x=True), rows[:count]).layout.xaxis for count in (5, 7))
    assert tuple(few.tickvals) == (5, 20, 80, 320, 1280)
    assert few.ticktext[-1] == "1,280"
    assert (many.tickvals, many.dtick) == (None, 1)


def test_printed_values_are_hollow_and_dashed():
    printed = [PrintedRow(figure="f", series="p", x=x, y=x, source="A paper, 1999") for x in (1, 2)]
    line, bar = draw(spec("line"), printed).data[0], draw(spec("bar"), printed).data[0]
    assert line.line.dash == "dash"
    assert line.marker.symbol.endswith("-open")
    assert bar.marker.color == "rgba(0,0,0,0)"
    assert "A paper, 1999" in line.text[0]


def test_cells_have_a_hole_where_nothing_was_measured():
    cells = draw(spec("cells"), ROWS).data[0]
    assert [list(line) for line in cells.z] == [[0.5, 0.6], [0.2, None]]
    assert list(cells.y) == ["a", "b"]


def test_cells_below_a_limit_have_a_star_and_each_can_be_clicked():
    cells, clickable = draw(spec("cells", star_below=0.55), ROWS).data
    assert [list(line) for line in cells.text] == [["0.5*", "0.6"], ["0.2*", ""]]
    assert cells.texttemplate == "%{text}"
    assert [list(point) for point in clickable.customdata] == [["a", "1"], ["a", "10"], ["b", "1"]]
    assert clickable.marker.opacity == 0


def test_cells_take_the_width_and_long_names_of_rows_two_lines():
    rows = [FigureRow(figure="f", series=name, x="c", y=1) for name in ("one", "batch hard, printed")]
    layout = draw(spec("cells"), rows).layout
    axis = layout.yaxis
    assert tuple(layout.xaxis.range) == (-0.5, 0.5)
    assert tuple(axis.tickvals) == ("one", "batch hard, printed")
    assert tuple(axis.ticktext) == ("one", "batch hard,<br>printed")
    assert [list(line) for line in draw(spec("cells"), ROWS).data[0].text] == [["0.5", "0.6"], ["0.2", ""]]


def test_a_figure_without_rows_is_empty():
    assert not draw(spec("line"), []).data
    assert not draw(spec("cells"), []).data


@pytest.mark.parametrize("kind", ["line", "bar", "points", "cells"])
def test_the_small_picture_is_valid_and_stays_in_its_frame(kind):
    svg = ElementTree.fromstring(thumbnail(spec(kind), ROWS))
    shapes = {"line": "circle", "points": "circle", "bar": "rect", "cells": "rect"}
    assert len(svg.findall(f"{{{NAMESPACE}}}{shapes[kind]}")) == 3
    for rect in svg.findall(f"{{{NAMESPACE}}}rect"):
        assert 0 <= float(rect.get("x")) <= float(rect.get("x")) + float(rect.get("width")) <= 320
    assert ElementTree.fromstring(thumbnail(spec(kind), [])).findtext(f"{{{NAMESPACE}}}title") == "T"


def test_what_is_kept_can_be_read_and_run_again():
    lines = list(csv.DictReader(io.StringIO(as_csv(ROWS))))
    assert lines[0] == {"figure": "f", "series": "a", "x": "1", "y": "0.5", "low": "0.4", "high": "0.7", "n": "3"}
    assert lines[1]["low"] == ""
    assert as_command("margins", "quick", "digits") == "dmlviz lab margins --quick --dataset digits --json margins.json"
    compile(as_script("margins", "full", "mnist"), "script", "exec")
    page = as_page(spec("line"), ROWS)
    assert page.startswith("<!doctype html>")
    assert "cdn" not in page.split("</script>")[-1]


@pytest.mark.parametrize("lab", LABS)
def test_every_figure_of_every_lab_is_drawn_before_anything_is_measured(lab):
    for figure in LABS[lab].all_figures:
        draw(figure, LABS[lab].rows([]), dark=True)
        draw(figure, LABS[lab].literature)


def test_printed_accuracies_keep_their_digits_and_a_benchmark_that_a_table_lacks_is_empty():
    lab = LABS["verification"]
    cells = draw(lab.printed_figure, lab.literature).data[0]
    table = {name: dict(zip(cells.x, row, strict=True)) for name, row in zip(cells.y, cells.text, strict=True)}
    assert table["ArcFace 0.5 (Deng 2019)"] == {"LFW": "99.53", "YTF": "", "CFP-FP": "95.56"}
    assert table["softmax + center (Liu 2017)"] == {"LFW": "99.05", "YTF": "94.4", "CFP-FP": ""}
    assert len(table) == 14


@pytest.mark.parametrize("lab", dict.fromkeys(row.lab for row in printed()))
def test_no_printed_number_is_without_a_partner_or_a_reason(lab):
    rows = study_rows(ready_made(lab))
    figures = {spec.name: spec for spec in LABS[lab].figures}
    for row in printed():
        if row.lab == lab:
            assert (row.ours(rows) is None) == bool(row.reason), row
            float(row.printed)
            if row.figure:
                most = 100 * row.factor * (figures[row.figure].bounds or (0, 10_000))[1]
                assert 0 <= row.ours(rows) <= most


@pytest.mark.parametrize("lab", LABS)
def test_what_a_lab_shows_as_printed_is_in_the_table(lab):
    def numbers(row: PrintedRow) -> set[float]:
        return {round(row.y, 4), round(100 * row.y, 2)}

    known = {round(float(row.printed), 4) for row in printed() if row.lab == lab}
    shown = [row for row in LABS[lab].literature if "computed from" not in row.source]
    assert shown or not LABS[lab].literature
    assert all(numbers(row) & known for row in shown)


def test_the_page_shows_each_number_once_beside_ours():
    some = LABS["reid"].rows(ready_made("reid").results())
    text = page({"reid": some}, {"reid": "It took 3 s.", "scale": "It could not be run: no <data>"})
    assert len(re.findall("<tr><td>", text)) == len(printed())
    assert "no &lt;data&gt;" in text
    assert f"{len(printed())} numbers" in text
    assert text.count("<h2 id=") == len(LABS)
    reasons = sum(bool(row.reason) for row in printed())
    assert text.count("<small>") == reasons < len(printed()) / 2
