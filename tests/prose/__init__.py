"""The language of package, messages and documentation: phrases that are not used, and the length of sentences."""
