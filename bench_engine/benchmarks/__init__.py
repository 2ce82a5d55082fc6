"""What is measured: one module each, with `run(trial)`.

From outside: answering, callables, collisions, embedding_step, grouped_lookup, lookup, memory_ops, modules, training.
"""
