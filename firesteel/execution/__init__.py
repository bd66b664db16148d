"""Running jobs: the driver loop, and the two executors (Spark and in-process) that it drives."""
