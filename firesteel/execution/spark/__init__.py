"""The engine on Apache Spark: one Spark job per epoch, subtasks in slot processes beside the executors."""
