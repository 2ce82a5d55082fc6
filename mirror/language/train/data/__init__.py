"""What is learnt from: questions in many people's words, phrases made by rules, WikiSQL, with their forms.

From outside: example, phrases, results_wordings, wikisql, wordings.
"""
