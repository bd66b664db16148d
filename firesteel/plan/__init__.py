"""From the program's graph to the compiled job plan, and the seam behind which executors run it."""
