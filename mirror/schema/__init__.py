"""What can be asked: views, columns, keys, values, and the catalogue of the results."""
