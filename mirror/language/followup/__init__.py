"""Follow-up questions: what they change of the question before. From outside: followup."""
