"""Work in shards, over processes or a cluster."""
