"""DataSet programs on Spark: each step is a stage of RDDs, exchanges carry chunks of records."""
