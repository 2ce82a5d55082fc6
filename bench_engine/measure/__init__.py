"""Times calls, and says what the timings allow to be said.

From outside: change_points, means, measure, ratios, starts, streams.
"""
