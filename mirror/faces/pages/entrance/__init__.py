"""Who may come in to the pages, and who they are: passwords, logins, and slow answers to wrong tries.

From outside: entry.
"""
