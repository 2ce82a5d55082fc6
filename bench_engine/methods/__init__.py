"""What can be measured: entries of methods, and which kernel each of them is. Loads without torch."""
