"""A language model as another reader, through any OpenAI-compatible server."""
