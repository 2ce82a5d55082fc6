"""A sweep becomes measured trials: plan, run, measure, journal. Loads without torch; only a worker imports it."""
