"""Readers of the file formats that data sets come in, and checks whether a file is whole."""
