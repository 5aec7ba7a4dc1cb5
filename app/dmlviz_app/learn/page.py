"""Learn page: index, catalog entries, interactive topics, lessons, answers."""

import streamlit as st

from dmlviz_app.learn import entry as learn_entry
from dmlviz_app.learn import index as learn_index
from dmlviz_app.learn import lesson as learn_lesson
from dmlviz_app.learn import topics as learn_topics
from dmlviz_app.learn.catalog_index import KINDS
from dmlviz_app.learn.state import KEY, LearnState
from dmlviz_app.widgets import navigation, url_state

before = url_state.peek(LearnState, KEY)
ui = url_state.get_or_create(LearnState, KEY)
if ui is not before:  # a link from Learn to Learn reaches the server, but leaves the browser's address as it was
    st.query_params.from_dict(ui.to_query())
url_state.write_url(ui)  # before there is a link to click, which would find the address of a moment ago

with st.container(key="learn"):
    ui.messages.show(*ui.messages.all())
    if not ui.kind:
        learn_index.index(ui)
    else:
        navigation.link("learn", "All of Learn", {}, icon=":material/arrow_back:")
        if ui.kind in KINDS:
            learn_entry.render_entry(KINDS[ui.kind], ui.name)
        elif ui.kind == "topic":
            learn_topics.TOPICS[ui.name]()
        elif ui.kind == "answer":
            learn_lesson.render_answer(ui.name)
        else:
            learn_lesson.render_lesson(ui.name)
