"""What people keep between questions, in small files that several processes use at once.

From outside: board_file, habits, json_lines, kept_settings, learnt_file, learnt_text, same_question, whole_file.
"""
