"""Records that a function makes, and how fast: what ``env.from_data_generator`` is made of."""

from firesteel.connectors.datagen import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]
