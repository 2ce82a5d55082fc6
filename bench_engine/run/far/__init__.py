"""A sweep run on another machine over ssh: the code copied there, the run begun there, its results brought here.

`there` and `environment_there` are what runs on the other machine; the rest runs here.

From outside: destination, far_run.
"""
