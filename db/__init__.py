"""Where results live: the journal, the tables and views, and the store that reads and writes them."""
