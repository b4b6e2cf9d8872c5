"""The program as steps in a total order, replayed against the clock, within the memory."""
