"""The hands of a job's machine: what carries its instructions out, by subject."""
