"""What each ingredient of the readers brings: the ingredients and how each is switched off, and the table of what came
of it.

From outside: ablations_page, ingredients, remembered, swapped.
"""
