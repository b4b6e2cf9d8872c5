"""The half of the table of operator kinds that needs TVM: patterns and TE definitions, by family of kinds.

The other half, with everything else that is true of a kind, is `target_arch.plan.operators`.
"""
