"""Tables, drawings and text from results."""
