"""The independent auditor: what GitHub holds of every ticket, read with PyGithub and git alone, judged anew."""
