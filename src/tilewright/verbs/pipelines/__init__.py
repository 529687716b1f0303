"""Verbs over pipelines and pictures."""
