"""Runs page: every run that this person sees, to open, compare, export, share or delete."""

from dmlviz_app.runs import state as run_list
from dmlviz_app.server.housekeeping import enforce_quota
from dmlviz_app.server.services import session_services
from dmlviz_app.widgets import url_state
from dmlviz_app.widgets.components import mount
from dmlviz_app.widgets.error_boundary import error_boundary

app_services = session_services()
ui = url_state.get_or_create(run_list.RunListState, run_list.KEY)
with error_boundary("The limit of the disk"):
    enforce_quota(app_services)
with error_boundary("The queue"):
    run_list.queue(app_services)
mount("run_list", key="cards", data=run_list.run_list_props(ui, app_services), reruns=True)
url_state.write_url(ui)
