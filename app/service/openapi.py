"""Prints the description of the HTTP API: `python -m app.service.openapi > docs/openapi.json`."""

import json

from app.service.app import describe_api


def openapi_text() -> str:
    """The OpenAPI document as it is published: sorted, indented, with a final line end."""
    return json.dumps(describe_api(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(openapi_text(), end="")
