"""Who may train on a custom data set: its owner, everyone with the link, or everyone."""

from urllib.parse import urlencode

import streamlit as st

from app.runtime.personal_runs import SHARING_ROLES
from app.runtime.public_address import public_address
from app.runtime.services import Services
from app.runtime.shared_links import SHARE
from app.widgets.parameters import bound_widget
from dmlviz.runs.ownership import Visibility

LABELS: dict[Visibility, str] = {"private": "Only you", "link": "Everyone with the link", "shelf": "Everyone"}


def data_sharing(services: Services, dataset: str) -> None:
    """Render who may train on a data set, and its link, for its owner."""
    person = services.person
    entry = None if person.alone else services.data_owners.entry(dataset, person.id)
    offered = [name for name, role in SHARING_ROLES.items() if person.may(role)]
    if entry is None or len(offered) == 1:
        return

    def share(visibility: Visibility) -> None:
        services.data_owners.share(dataset, person.id, visibility)

    bound_widget(
        st.selectbox,
        "Who may train on it",
        f"data.shared.{dataset}",
        entry.visibility,
        share,
        options=[*offered, *([] if entry.visibility in offered else [entry.visibility])],
        format_func=LABELS.__getitem__,
    )
    if entry.key:
        address = public_address(st.context.url or "", services.settings.host)
        st.code(f"{address}?{urlencode({'dataset': dataset, SHARE: entry.key})}", language=None, wrap_lines=True)
