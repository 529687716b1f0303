"""Verbs over matrix chains."""
