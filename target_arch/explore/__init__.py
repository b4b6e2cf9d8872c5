"""Which chip? Many SoCs compared for the same models, each on the ordinary way of a compilation.

`space_file.py` reads what varies and what is wanted, `search.py` evaluates points, and `exploration.py` is
the result. A point is evaluated by `evaluate.py`, in `workers.py`, and kept in `store.py` under the key of
`content.py`.
"""
