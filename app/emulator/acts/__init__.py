"""What can happen on GitHub, whoever asks and by whatever API: the change, its timeline entry and its webhooks."""
