"""Stories that prove the product against a GitHub on this machine."""
