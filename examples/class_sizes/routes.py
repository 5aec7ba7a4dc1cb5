"""The route: a worker counts, and the server answers with what it wrote."""

from dmlviz_app.server.access import Routes, Rule, personal
from starlette.responses import Response

routes = Routes()


@routes.get(Rule.RUN_READER, "/runs/{run}/class-sizes.json")
async def class_sizes(request):
    """Return the number of test images of each class of a run."""
    services = personal(request)
    run = services.runs.get(request.path_params["run"])
    order = services.answers.order("class_sizes", run.id, run=str(run.path.resolve()))
    async with services.answers.open(request, services.person.id, order) as record:
        return Response(record.result.read_text(), media_type="application/json")
