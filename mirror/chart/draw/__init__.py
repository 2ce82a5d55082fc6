"""A ChartSpec as a Plotly figure."""
