"""The graph pass of Parallel OP: finds the ops that can be grouped, decides, and rewrites the graph."""
