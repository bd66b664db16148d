"""The driver's halves of the engine's own operators: sources, loops, two-phase sinks, collected results."""
