"""Clean page: a run's findings in its training data, and a person's decisions."""

from dmlviz_app.clean import panel as clean_view
from dmlviz_app.clean.state import KEY, CleanState
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets import url_state

ui = url_state.get_or_create(CleanState, KEY)
clean_view.clean_view(ui, session_services())
url_state.write_url(ui)
