"""Energy: predicted, measured, and its calibration."""
