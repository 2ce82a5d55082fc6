"""Questions about other people's data: words -> the form in mirror.query.tables."""
