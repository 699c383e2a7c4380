"""Answers of the page's server, held to docs/openapi.yaml. Needs what requirements.txt names."""

import copy
import re
from pathlib import Path

import jsonschema
import openapi_spec_validator
import yaml

FILE = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"
ROOT = "/api/v1"


def parts_of(schema):
    """The schema and all schemas in it."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from parts_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from parts_of(value)


class Contract:
    def __init__(self):
        self.document = yaml.safe_load(FILE.read_text())
        self.paths = {re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(ROOT + path))): path for path in self.document["paths"]}
        components = copy.deepcopy(self.document["components"])
        # Readers may be given more than they know; here nothing may be there that the file leaves out.
        bases = {base["$ref"] for part in parts_of(components) for base in part.get("allOf", [])}
        for name, schema in components["schemas"].items():
            for part in parts_of(schema):
                is_base = part is schema and "#/components/schemas/" + name in bases
                if "object" in part.get("type", []) and "properties" in part and "additionalProperties" not in part and not is_base:
                    part["unevaluatedProperties"] = False
        self.components = components
        self.validators = {}

    def lint(self):
        openapi_spec_validator.validate(self.document)

    def unused_schemas(self):
        used = {part["$ref"].split("/")[-1] for part in parts_of(self.document) if isinstance(part.get("$ref"), str)}
        return set(self.document["components"]["schemas"]) - used

    def validator(self, schema):
        key = str(schema)
        if key not in self.validators:
            self.validators[key] = jsonschema.Draft202012Validator({**schema, "components": self.components})
        return self.validators[key]

    def response(self, method, path, status):
        """The answer that the file tells of, with its reference followed."""
        template = next((template for pattern, template in self.paths.items() if pattern.fullmatch(path.split("?")[0])), None)
        operation = self.document["paths"].get(template, {}).get(method.lower())
        if operation is None:
            assert status >= 400, f"{method} {path} was answered with {status}, and docs/openapi.yaml does not know it"
            return self.document["components"]["responses"]["Error"]
        responses = operation["responses"]
        assert str(status) in responses or status >= 400, f"{method} {path}: {status} is not in docs/openapi.yaml"
        response = responses.get(str(status), responses["default"])
        return self.document["components"]["responses"]["Error"] if "$ref" in response else response

    def check(self, method, path, status, content_type, value):
        content = self.response(method, path, status)["content"]
        assert content_type in content, f"{method} {path}: {content_type}, expected {list(content)}"
        self.validator(content[content_type]["schema"]).validate(value)

    def check_action(self, action):
        self.validator({"$ref": "#/components/schemas/Action"}).validate(action)
