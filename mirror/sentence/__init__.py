"""A result in one to three sentences, every number computed. From outside: headline, refusal, summary."""
