"""Requests to measure: words -> RunPlan."""
