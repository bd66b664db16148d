"""The data plane: operators, watermarks, timers and emitters as plain Python, without Spark, clocks or I/O."""
