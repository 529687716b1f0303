"""File formats: arrays, pictures, sequences, logs of measurements, and files of other tuners."""
