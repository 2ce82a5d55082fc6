"""What a choice teaches: which word of its question names which part of the source, and whether it holds later too.

From outside: of_other_data, of_results, own_words_text.
"""
