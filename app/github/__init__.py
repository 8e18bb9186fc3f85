"""The only place where the App speaks to GitHub."""
