"""Question in, Answer out: the whole flow.

From outside: answer, answering, as_text, notebook, policy, proposal, subject.
"""
