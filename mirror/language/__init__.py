"""Words become queries. From outside: nothing; rooms below say their own."""
