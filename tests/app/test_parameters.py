"""Widgets of parameters within a form, which change nothing before it is submitted."""

from streamlit.testing.v1 import AppTest


def form() -> None:
    import streamlit as st
    from dmlviz_app.forms.parameters import form_fields, form_values
    from dmlviz_app.forms.view_state import UIState

    from dmlviz.catalog.projection_engines import REFERENCES

    if "page.explore" not in st.session_state:
        st.session_state["page.explore"] = UIState(view="tsne", projection_overrides={"engine": "reference"})
    ui, declared = st.session_state["page.explore"], REFERENCES["tsne"]
    with st.form("form"):
        form_fields("view", declared, declared.parameters, ui.params_with("reference"))
        st.form_submit_button("Draw", on_click=lambda: form_values(ui, "view", declared))


def test_a_number_or_special_value_is_read_when_the_form_is_submitted():
    page = AppTest.from_function(form, default_timeout=120).run()
    assert not page.exception

    def learning_rate() -> float | str:
        page.button[0].click().run()
        assert not page.exception
        assert page.session_state["page.explore"].messages.all() == {}
        return page.session_state["page.explore"].projection().params["learning_rate"]

    assert learning_rate() == "auto"
    page.selectbox("view.scikit-learn.learning_rate.word").select("a number")
    page.number_input("view.scikit-learn.learning_rate").set_value(300.0)
    assert learning_rate() == 300
    page.selectbox("view.scikit-learn.learning_rate.word").select("auto")
    assert learning_rate() == "auto"
