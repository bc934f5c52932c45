"""The golden record: values that a known version computed, and a comparison with them (`make golden`)."""
