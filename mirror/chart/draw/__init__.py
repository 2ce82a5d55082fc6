"""A ChartSpec as a Plotly figure. From outside: figure."""
