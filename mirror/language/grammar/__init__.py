"""Questions about the results, read by cues and slots: words -> QuerySpec."""
