"""The checker: looks at steps and memory plan again, and believes nothing of what made them."""
