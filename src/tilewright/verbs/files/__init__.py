"""Runs from files to files, as the command line asks for them."""
