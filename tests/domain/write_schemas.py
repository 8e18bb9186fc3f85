"""Writes the published JSON Schemas anew: `python tests/domain/write_schemas.py` from the repository's root."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from app.domain.checkpoint import checkpoint_schema
    from app.domain.compose_brief import brief_schema
    from app.domain.policy import policy_schema

    for name, schema in (("policy", policy_schema()), ("brief", brief_schema()), ("checkpoint", checkpoint_schema())):
        text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        (ROOT / "docs/schema" / f"{name}.json").write_text(text)
