"""The Learn page: an index, a page for every choice, things to play with, lessons."""

import streamlit as st

from app import address, navigation
from app.learn import entry, index, lesson, topics
from app.learn.entries import KINDS
from app.learn.state import KEY, LearnState

ui = address.current(LearnState, KEY)

with st.container(key="learn"):
    if not ui.kind:
        index.index(ui)
    else:
        navigation.link("learn", "All of Learn", {}, icon=":material/arrow_back:")
        if ui.kind in KINDS:
            entry.entry(KINDS[ui.kind], ui.name)
        elif ui.kind == "topic":
            topics.TOPICS[ui.name]()
        else:
            lesson.lesson(ui.name)

address.publish(ui)
