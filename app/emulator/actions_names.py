"""The App that runs of workflows act as, under the names and numbers it has on GitHub."""

ACTIONS_APP = "github-actions"
ACTIONS_APP_ID = 15368
ACTIONS_BOT_ID = 41898282
