"""The chain of commits that is the authority about a ticket's execution."""
