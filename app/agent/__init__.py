"""What runs on the agent's side: the command line, the workspace, the fenced push."""
