"""Who may train on a custom data set: its owner, or everyone."""

import streamlit as st

from app.runtime.people import Role
from app.runtime.services import Services
from app.widgets.parameters import bound_widget


def data_sharing(services: Services, dataset: str) -> None:
    """Render the switch that puts a teacher's own data set on the shelf of all."""
    person = services.person
    entry = None if person.alone else services.data_owners.entry(dataset, person.id)
    if entry is None or not person.may(Role.TEACHER):
        return

    def share(shared: bool) -> None:
        services.data_owners.share(dataset, person.id, "shelf" if shared else "private")

    bound_widget(st.toggle, "Everyone may train on it", f"data.shared.{dataset}", entry.visibility == "shelf", share)
