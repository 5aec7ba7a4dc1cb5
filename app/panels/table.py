"""Below the map: the table of the test images, to search, filter and sort, and to select on the map."""

import zlib
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from app.panels import inspector
from app.payloads.columns import described, run_columns
from app.payloads.table_rows import Filter, matching_rows, with_classes
from app.runtime import url_state
from app.runtime.url_state import note_event
from app.state import explore
from app.state.current_view import PageContext, context_key, page_context
from app.state.selection import Selection
from app.widgets.error_boundary import error_boundary
from dmlviz.data.columns import Column
from dmlviz.runs.run import Run

if TYPE_CHECKING:
    import pyarrow

KEY = "table"
PICKED = "table.picked"  # a person has selected rows, so that the map has to follow
ANY = "Any column"
MOST_ROWS = 10_000  # sent to the page at a time
HEIGHT = 360  # pixels
FEW_DAYS = 3  # within which the time of the day matters
DATE, TIME = "YYYY-MM-DD", "YYYY-MM-DD HH:mm"


def table_panel(page: PageContext) -> None:
    """Render an expander with the table; a fragment, so that the page is not rerun. Nothing for a run without one."""
    if page.run_view is None or not page.run_view.columns:
        return
    key, contexts = context_key(page), [page]

    @st.fragment
    def drawer() -> None:
        with error_boundary():
            context = contexts.pop() if contexts else page_context(explore.saved_state())
            if context.run_view is None or context_key(context)[:2] != key[:2] or st.session_state.pop(PICKED, False):
                url_state.rerun()
            expander = st.expander("Table", key=KEY, on_change=note_event)
            if expander.open:
                with expander:
                    _table(context)

    drawer()


def _table(context: PageContext) -> None:
    assert context.run_view is not None  # the drawer looks
    run, data = context.run_view.run, context.services.data
    table = run_columns(run, data)
    if table is None:
        st.caption("The columns of this run cannot be read.")
        return
    columns = described(run, data)
    _filter_widgets(run.id, columns)
    rows = _matching_rows(run, table, columns)
    _rows_on_page(run, table, rows)
    chosen = _picked(run.id, rows)
    left, right = st.columns([3, 1], vertical_alignment="center")
    what = f"{len(chosen):,} picked" if len(chosen) else f"{len(rows):,} of {table.num_rows:,} rows"
    with left:
        more = f" The first {MOST_ROWS:,} are listed: search or filter for others." if len(rows) > MOST_ROWS else ""
        st.caption(f"{what}. Click the head of a column to sort by it, a box on the left to pick a row.{more}")
    with right:
        st.button(
            "Select on the map",
            key="table.select",
            width="stretch",
            disabled=not len(rows),
            on_click=_select,
            args=(run, data),
        )


def _filter_widgets(run: str, columns: tuple[Column, ...]) -> None:
    """Render the widgets of the filter; they belong to the run, as its columns do."""
    search, name, value = st.columns([3, 2, 4])
    with search:
        st.text_input("Search", key=f"table.search.{run}", placeholder="part of a text", persist_state="session")
    by_name = {column.name: column for column in columns if column.kind != "text"}
    with name:
        column = by_name.get(st.selectbox("Filter by", [ANY, *by_name], key=f"table.column.{run}"))
    if column is None:
        return
    with value:
        if column.kind == "category":
            key = f"table.values.{run}.{column.name}"
            st.multiselect("Values", column.values, key=key, placeholder="all", select_all=False)
        elif not column.low < column.high:
            st.caption("There are no numbers." if np.isnan(column.low) else f"All numbers are {column.low:g}.")
        elif column.start is not None:
            ends, key = (column.start, column.date_of(column.high)), f"table.range.{run}.{column.name}"
            st.slider("From and to", *ends, ends, key=key, format=DATE if column.high > FEW_DAYS else TIME)
        else:
            whole, key = (column.low, column.high), f"table.range.{run}.{column.name}"
            st.slider("From and to", *whole, whole, key=key)


def _filter(run: str, columns: tuple[Column, ...]) -> Filter:
    """Return what is entered in the widgets of the filter."""
    text = st.session_state.get(f"table.search.{run}", "")
    name = st.session_state.get(f"table.column.{run}", ANY)
    column = next((one for one in columns if one.name == name and one.kind != "text"), None)
    if column is None or (column.kind != "category" and not column.low < column.high):
        return Filter(text)
    if column.kind == "category":
        return Filter(text, name, values=tuple(st.session_state.get(f"table.values.{run}.{name}", ())))
    low, high = st.session_state.get(f"table.range.{run}.{name}", (None, None))
    if low is None:
        return Filter(text, name)
    if column.start is not None:
        low, high = ((end - column.start) / timedelta(days=1) for end in (low, high))
        high = high + 1e-9  # a time is rounded to a microsecond
    return Filter(text, name, low if low > column.low else -np.inf, high if high < column.high else np.inf)


def _matching_rows(run: Run, table: "pyarrow.Table", columns: tuple[Column, ...]) -> np.ndarray:
    return matching_rows(with_classes(run, table), columns, _filter(run.id, columns))


def _rows_key(run: str, rows: np.ndarray) -> str:
    """The key of the list: with other rows, those that were picked before mean others."""
    return f"table.rows.{run}.{zlib.crc32(rows[:MOST_ROWS].tobytes()):x}"


def _rows_on_page(run: Run, table: "pyarrow.Table", rows: np.ndarray) -> None:
    shown = rows[:MOST_ROWS]
    st.dataframe(
        with_classes(run, table).take(shown).to_pandas().set_index(shown.astype(np.int64)),
        key=_rows_key(run.id, rows),
        height=HEIGHT,
        on_select="rerun",
        selection_mode="multi-row",
    )


def _picked(run: str, rows: np.ndarray) -> np.ndarray:
    """Return the rows that are picked in the list."""
    event = st.session_state.get(_rows_key(run, rows))
    shown = rows[:MOST_ROWS]
    return shown[[] if event is None else [row for row in event.selection.rows if row < len(shown)]]


def _select(run: Run, data: Path) -> None:
    """Select on the map what is picked or found now, as the button may be older than the filter; one row is pinned."""
    table, ui = run_columns(run, data), explore.saved_state()
    if table is None:
        return
    rows = _matching_rows(run, table, described(run, data))
    picked = _picked(run.id, rows)
    rows = picked if len(picked) else rows
    if not len(rows):
        return
    if len(rows) == 1:
        ui.pinned = int(rows[0])
    ui.selected = Selection.of(run.config.dataset, rows)
    st.session_state[inspector.KEY] = inspector.SIDES[0]
    st.session_state[PICKED] = True
