"""What answers must be like: operators and nets against references, faults that tests must notice, inputs
that readers must survive. Tests run samples; `python -m conformance.NAME` runs all of a file.
"""
