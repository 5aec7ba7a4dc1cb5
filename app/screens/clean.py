"""Clean page: what a run finds in its training data, decided about by a person."""

from app.panels import clean_view
from app.runtime import url_state
from app.runtime.services import session_services
from app.state.clean import KEY, CleanState

ui = url_state.get_or_create(CleanState, KEY)
clean_view.clean_view(ui, session_services())
url_state.write_url(ui)
