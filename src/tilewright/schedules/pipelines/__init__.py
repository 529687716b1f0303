"""Schedules of pipelines: fused groups, and how their rows stream."""
