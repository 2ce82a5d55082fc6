"""A ChartSpec as a Plotly figure. From outside: change_marks, figure."""
