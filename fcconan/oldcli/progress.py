"""Progress of long commands on standard error: a bar on a terminal, elsewhere a line now and then."""
