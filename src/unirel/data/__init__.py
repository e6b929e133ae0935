"""Any table in, one `Table` out."""
