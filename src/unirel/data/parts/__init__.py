"""Tables that are read in parts of their rows: from files larger than memory, or on a cluster."""
