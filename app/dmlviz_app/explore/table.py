"""Below the map: the table of the test images, to search, filter and sort, and to select on the map."""

import zlib
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from dmlviz.data.columns import Column
from dmlviz.runs.run import Run
from dmlviz.runs.run_columns import run_columns
from dmlviz_app.answers.columns import columns_of
from dmlviz_app.answers.table_rows import Condition, Filter, matching_rows, sorted_rows, with_classes
from dmlviz_app.forms import view_state as explore
from dmlviz_app.forms.selection import Selection
from dmlviz_app.widgets import url_state
from dmlviz_app.widgets.actions import button
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import escape_markdown
from dmlviz_app.widgets.url_state import note_event
from dmlviz_app.workbench.current_view import PageContext, context_key, page_context

if TYPE_CHECKING:
    import pyarrow

KEY = "table"
PICKED = "table.picked"  # a person has selected rows, so that the map has to follow
ROW_NUMBER = "Row number"
MOST_ROWS = 10_000  # sent to the page at a time
HEIGHT = 360  # pixels
FEW_DAYS = 3  # within which the time of the day matters
DATE, TIME = "YYYY-MM-DD", "YYYY-MM-DD HH:mm"


def table_panel(page: PageContext) -> None:
    """Render an expander with the table; a fragment, so that the page is not rerun. Nothing for a run without one."""
    if page.run_view is None or not page.run_view.columns:
        return
    key, contexts, is_list = context_key(page), [page], lists_selection(page.run_view.run.id)

    @st.fragment
    def drawer() -> None:
        with error_boundary("The table"):
            context = contexts.pop() if contexts else page_context(explore.saved_state())
            if context.run_view is None or context_key(context)[:2] != key[:2] or st.session_state.pop(PICKED, False):
                url_state.rerun()
            if lists_selection(context.run_view.run.id) != is_list:
                url_state.rerun()
            expander = st.expander("Table", key=KEY, on_change=note_event)
            if expander.open:
                with expander:
                    _table(context)

    drawer()


def lists_selection(run: str) -> bool:
    """Return whether the table lists only what is selected on the map."""
    return bool(st.session_state.get(f"table.selection.{run}"))


def _table(context: PageContext) -> None:
    assert context.run_view is not None  # the drawer looks
    run, data = context.run_view.run, context.services.data
    table = run_columns(run, data)
    if table is None or run.labels is None:
        st.caption("The columns of this run cannot be read.")
        return
    columns, whole = columns_of(run, data), with_classes(run, table)
    _filter_widgets(run.id, columns, whole.column_names)
    rows = _matching_rows(run, whole, columns)
    choice = _choice(run.id, rows)
    # Between the widgets and the list, whose own tools would lie above the widgets; above it, where nothing moves when
    # the list gets shorter: a button that goes away from under a pointer is not clicked.
    left, right = st.columns([1, 5], vertical_alignment="center")
    with left:
        button(
            "Select on the map",
            key="table.select",
            help="Then X on the map hides all others",
            width="stretch",
            disabled=not len(rows),
            on_click=_select,
            args=(run, data),
        )
    with right:
        st.caption(_caption(run.id, rows, len(choice), table.num_rows))
    _rows_on_page(run.id, whole, rows)


def _caption(run: str, rows: np.ndarray, count: int, total: int) -> str:
    """Render the caption: which images are listed."""
    what = f"{count:,} picked" if count else f"{len(rows):,} of {total:,} rows"
    if lists_selection(run) and explore.saved_state().seen.selected is None:
        what = "Nothing is selected on the map"
    if len(rows) <= MOST_ROWS:
        return f"{what}. Click a box on the left to pick a row."
    by = st.session_state.get(f"table.sort.{run}", ROW_NUMBER)
    order = "" if by == ROW_NUMBER else f" by {by}"
    return (
        f"{what}. The first {MOST_ROWS:,}{order} are listed; the head of a column sorts only these, **Sort by** all. "
        "Click a box on the left to pick a row."
    )


def _filter_widgets(run: str, columns: tuple[Column, ...], names: list[str]) -> None:
    """Render the widgets of filter and order; they belong to the run, as its columns do."""
    search, picks, order, direction = st.columns([3, 4, 2, 2], vertical_alignment="bottom")
    with search:
        st.text_input("Search", key=f"table.search.{run}", placeholder="part of a text", persist_state="session")
    by_name = {column.name: column for column in columns if column.kind != "text"}
    with picks:
        key = f"table.columns.{run}"
        filters = st.multiselect("Filter by", list(by_name), key=key, placeholder="any column", select_all=False)
    with order:
        by = st.selectbox("Sort by", [ROW_NUMBER, *names], key=f"table.sort.{run}")
    with direction:
        st.checkbox("Descending", key=f"table.descending.{run}", disabled=by == ROW_NUMBER)
        st.checkbox("Only the selection", key=f"table.selection.{run}", help="List what is selected on the map")
    for start in range(0, len(filters), 2):
        for place, name in zip(st.columns(2), filters[start : start + 2], strict=False):
            with place:
                _condition_widget(run, by_name[name])


def _condition_widget(run: str, column: Column) -> None:
    title = escape_markdown(column.name)
    if column.kind == "category":
        key = f"table.values.{run}.{column.name}"
        st.multiselect(title, column.values, key=key, placeholder="all values", select_all=False)
    elif not column.low < column.high:
        what = "There are no numbers" if np.isnan(column.low) else f"All numbers are {column.low:g}"
        st.caption(f"{title}: {what}.")
    elif column.start is not None:
        ends, key = (column.start, column.date_of(column.high)), f"table.range.{run}.{column.name}"
        st.slider(title, *ends, ends, key=key, format=DATE if column.high > FEW_DAYS else TIME)
    else:
        whole, key = (column.low, column.high), f"table.range.{run}.{column.name}"
        st.slider(title, *whole, whole, key=key)


def _filter(run: Run, columns: tuple[Column, ...]) -> Filter:
    """Return what is entered in the widgets of the filter."""
    by_name = {column.name: column for column in columns if column.kind != "text"}
    names = st.session_state.get(f"table.columns.{run.id}", ())
    filters = [by_name[name] for name in names if name in by_name]
    conditions = tuple(_condition(run.id, one) for one in filters if one.kind == "category" or one.low < one.high)
    among = None
    if lists_selection(run.id):
        among, selection = np.zeros(0, np.int64), explore.saved_state().seen.selected
        if selection is not None and selection.dataset == run.config.dataset:
            among = selection.items
    return Filter(st.session_state.get(f"table.search.{run.id}", ""), conditions, among)


def _condition(run: str, column: Column) -> Condition:
    if column.kind == "category":
        return Condition(column.name, values=tuple(st.session_state.get(f"table.values.{run}.{column.name}", ())))
    low, high = st.session_state.get(f"table.range.{run}.{column.name}", (None, None))
    if low is None:
        return Condition(column.name)
    if column.start is not None:
        low, high = ((end - column.start) / timedelta(days=1) for end in (low, high))
        high = high + 1e-9  # a time is rounded to a microsecond
    return Condition(column.name, low if low > column.low else -np.inf, high if high < column.high else np.inf)


def _matching_rows(run: Run, table: "pyarrow.Table", columns: tuple[Column, ...]) -> np.ndarray:
    """Return the rows that are found, in the order that is chosen; the table has the classes."""
    rows = matching_rows(table, columns, _filter(run, columns))
    by = st.session_state.get(f"table.sort.{run.id}", ROW_NUMBER)
    if by not in table.column_names:
        return rows
    return sorted_rows(table, rows, by, bool(st.session_state.get(f"table.descending.{run.id}")))


def _rows_key(run: str, rows: np.ndarray) -> str:
    """Return the key of the list: with other rows, the picked positions mean other images."""
    return f"table.rows.{run}.{zlib.crc32(rows[:MOST_ROWS].tobytes()):x}"


def _rows_on_page(run: str, table: "pyarrow.Table", rows: np.ndarray) -> None:
    page_rows = rows[:MOST_ROWS]
    st.dataframe(
        table.take(page_rows).to_pandas().set_index(page_rows.astype(np.int64)),
        key=_rows_key(run, rows),
        height=HEIGHT,
        on_select="rerun",
        selection_mode="multi-row",
    )


def _choice(run: str, rows: np.ndarray) -> np.ndarray:
    """Return the rows that are picked in the list."""
    event = st.session_state.get(_rows_key(run, rows))
    page_rows = rows[:MOST_ROWS]
    return page_rows[[] if event is None else [row for row in event.selection.rows if row < len(page_rows)]]


def _select(run: Run, data: Path) -> None:
    """Select on the map what is picked or found now, as the button may be older than the filter; one row is pinned."""
    table, ui = run_columns(run, data), explore.saved_state()
    if table is None:
        return
    rows = _matching_rows(run, with_classes(run, table), columns_of(run, data))
    choice = _choice(run.id, rows)
    rows = choice if len(choice) else rows
    if not len(rows):
        return
    ui.select_images(Selection.of(run.config.dataset, rows), int(rows[0]) if len(rows) == 1 else None)
    st.session_state[PICKED] = True
