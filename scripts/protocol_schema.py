"""Print the JSON schema of what server and page send each other, and all components, for frontend/protocol.mjs."""

import json
from dataclasses import is_dataclass
from typing import Any, get_args

from dmlviz_app.feature import components, messages, props
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.widgets.protocol import ViewKey
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema
from typing_extensions import TypeAliasType, is_typeddict

from dmlviz.jobs.job import LIVE_STATES
from dmlviz.storage.run_schema.events import RunEvent


class Schema(GenerateJsonSchema):
    """Fields without titles and lists without lengths, which would become types; tuples as in JSON schema's draft 7."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False."""
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Return True for a field of a dataclass, which is always sent."""
        return field["type"] == "dataclass-field" or super().field_is_required(field, total)

    def list_schema(self, schema: core_schema.ListSchema) -> JsonSchemaValue:
        """Return the schema of a list of any length."""
        return {"type": "array", "items": self.generate_inner(schema["items_schema"])}

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        """Return the schema of a tuple of a fixed length."""
        items = [self.generate_inner(item) for item in schema["items_schema"]]
        return {"type": "array", "items": items, "minItems": len(items), "maxItems": len(items)}


def schema() -> dict[str, Any]:
    """Return the schema: the props of each component, and below `$defs` all types."""
    types = {name: value for name, value in messages().items() if _is_type(value)}
    adapters = [(name, "validation", TypeAdapter(value)) for name, value in ({"RunEvent": RunEvent} | types).items()]
    _, definitions = TypeAdapter.json_schemas(adapters, schema_generator=Schema)  # type: ignore[arg-type]
    definitions["$defs"]["Routes"] = {"const": ROUTES}
    by_component = {name: {"$ref": f"#/$defs/{value.__name__}"} for name, value in props().items()}
    return definitions | {"title": "Props", "type": "object", "properties": by_component, "required": [*by_component]}


def _is_type(value: Any) -> bool:
    return is_typeddict(value) or isinstance(value, TypeAliasType) or (isinstance(value, type) and is_dataclass(value))


if __name__ == "__main__":
    constants = {"LIVE_STATES": LIVE_STATES, "VIEW_KEYS": get_args(ViewKey.__value__)}
    print(json.dumps({"schema": schema(), "components": components(), "constants": constants}))
