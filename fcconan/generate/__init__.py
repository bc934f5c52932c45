"""Writes counter-narratives: prompting, retrieval, fine-tuning, and what a reply must not be."""
