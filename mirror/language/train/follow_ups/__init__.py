"""Follow-ups over the results: what the network learns of them, and what their ranker is fitted to.

`said.yaml` has follow-ups in the words of three voices, written by two people from the question before, the change in
set phrases and the question that it makes; they had seen no reader and no question of the evaluation. `by_rules.zip`
has changes in set phrases with the forms that the reader of follow-ups gives them. A tenth of what was said is sealed.
"""
