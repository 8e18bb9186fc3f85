"""GraphQL over a subset of GitHub's schema."""
