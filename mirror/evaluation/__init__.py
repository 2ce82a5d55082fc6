"""How good are the answers? Questions with known answers, asked of seeded results and scored.

From outside: eval_command, runner.
"""
