"""Follow-ups: on other data a fragment is read as any question is, and put into the form of the question before.

From outside: edited, fragment, still_there, told_change, without_outliers.
"""
