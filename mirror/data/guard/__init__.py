"""Which SQL may run. From outside: check_sql, guard_errors, sqlglot_tree."""
