"""The tools that raters work in: what is handed to them, and how what comes back is read."""
