"""Small networks that turn questions into forms: the reader of the results, and the second one of other data.

From outside: action_language, form_actions, items, likeness, network, other_data_reader, results_actions,
results_grammar, results_items, results_numbers, results_phrases, results_reader, text_encoder, unread.
"""

import os
import sys

# OpenBLAS reads how many threads it may use when numpy is loaded. The products of one question are so small that
# several threads mostly wait for one another, and they wait busily: where anything else runs on the machine, a question
# takes many times as long. No other program that is started from here is to be held to one.
_THREADS = "OPENBLAS_NUM_THREADS"
if "numpy" not in sys.modules and _THREADS not in os.environ:
    os.environ[_THREADS] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_THREADS]
