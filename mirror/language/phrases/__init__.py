"""Ways of saying that questions share: numbers, times, sizes, units, small talk."""
