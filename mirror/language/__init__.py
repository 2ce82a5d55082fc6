"""Words become queries."""
