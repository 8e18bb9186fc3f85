"""Merges and rebases made of git objects alone: no ref moves, and what conflicts is None."""

from __future__ import annotations

import pygit2

from app.emulator.repos import GitRepo

REBASE_LIMIT = 100
"""GitHub rebases no pull request of more commits."""


def merged_tree(git: GitRepo, ours: str, theirs: str) -> str | None:
    """The tree of a merge of two commits, or None when they conflict."""
    index = git.pg.merge_commits(ours, theirs)
    return None if index.conflicts is not None else str(index.write_tree(git.pg))


def commits_between(git: GitRepo, base: str, head: str) -> list[str]:
    """The commits of ``head`` that ``base`` has not, parents before children."""
    order = pygit2.enums.SortMode.TOPOLOGICAL | pygit2.enums.SortMode.REVERSE
    walk = git.pg.walk(head, order)
    walk.hide(base)
    return [str(commit.id) for commit in walk]


def replay(git: GitRepo, commits: list[str], onto: str, committer: pygit2.Signature) -> str | None:
    """The commits applied one by one onto another: the new tip, or None.

    None for conflicts, for more than :data:`REBASE_LIMIT` commits and for merges, which GitHub will not rebase. Every
    commit is written anew with its author and message and a new committer, also where nothing would have to move.
    """
    if not 0 < len(commits) <= REBASE_LIMIT:
        return None
    tip = onto
    for sha in commits:
        commit = git.commit(sha)
        if len(commit.parents) != 1:
            return None
        index = git.pg.merge_trees(commit.parents[0].tree, git.commit(tip).tree, commit.tree)
        if index.conflicts is not None:
            return None
        tree = str(index.write_tree(git.pg))
        emptied = tree == str(git.commit(tip).tree_id) and commit.tree_id != commit.parents[0].tree_id
        if not emptied:
            tip = git.write_commit(tree, [tip], commit.message, commit.author, committer)
    return tip
