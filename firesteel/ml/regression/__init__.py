"""Learning numbers."""

from firesteel.ml.regression.linearregression import LinearRegression, LinearRegressionModel

__all__ = ["LinearRegression", "LinearRegressionModel"]
