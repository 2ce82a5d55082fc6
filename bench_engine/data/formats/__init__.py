"""Readers of the file formats that data sets come in, and checks whether a file is whole.

From outside: check_file, delimited, layouts, libfm, parquet, stream.
"""
