"""Requests to measure: words -> RunPlan. From outside: actions."""
