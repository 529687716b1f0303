"""Search among the orders of a matrix chain."""
