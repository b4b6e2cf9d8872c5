"""The bytes left for each partition: the ledger, and the budgets that it promises."""
