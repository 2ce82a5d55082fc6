"""A sweep file becomes trials."""
