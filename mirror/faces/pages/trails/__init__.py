"""What the page Ask remembers and does, without drawing it: questions, what is being answered, undo and redo.

From outside: address, flow, trail.
"""
