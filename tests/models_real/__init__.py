"""Commands with real models, whose weights come from package registries: `make check-models`."""
