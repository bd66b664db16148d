"""What a table environment is made of inside: catalogs, jobs, statements."""
