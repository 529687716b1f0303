"""Tuning: candidates, trials, and the plan that comes out."""
