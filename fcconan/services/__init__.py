"""One function per command: it takes sources and a configuration, and returns a typed result. Nothing is printed."""
