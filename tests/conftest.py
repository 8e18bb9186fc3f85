"""What holds for all tests: what the emulated GitHub says in any of them is judged by GitHub's own description."""

pytest_plugins = ["tests.contract.watch"]
