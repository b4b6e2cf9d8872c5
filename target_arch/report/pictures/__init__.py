"""One file per picture; each makes SVG of the values in `facts`."""
