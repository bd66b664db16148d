"""Sources and sinks, one module each. Every class states its ``guarantee`` and whether it is ``replayable``."""
