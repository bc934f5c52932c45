"""Shows releases of this package to other people's tools, in the form that each of them reads."""
