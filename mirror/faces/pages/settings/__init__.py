"""The page Settings: the language model, what is learnt, words of one's own, and where everything is.

From outside: settings_page.
"""
