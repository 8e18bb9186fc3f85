"""Slash commands: what a person says in a comment, one module for each verb. The rules are those of the words that are
said at the terminal: this layer reads comments, calls the controller and words the answers.
"""
