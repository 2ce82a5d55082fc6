"""The page Boards: answers side by side, asked anew when it opens.

From outside: board_page.
"""
