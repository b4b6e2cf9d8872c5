"""Which neighbours run as regions where memory is short, and the proof that each does what it promises."""
