"""Plots of results."""

from fcconan.report.plots import forest as forest
