"""A strict GitHub on this machine: REST, GraphQL, git over smart HTTP, Apps and webhooks.

It runs as its own process (``python -m app.emulator --data DIR``) and is driven from outside through
:mod:`app.emulator.client`. It enforces GitHub's refusals; what it does not serve is answered by 501.
"""
