"""Pure graph algorithms, plan to plan: no TVM, no files, no processes. Tests: `tests/stages`.

The way through the room, each step one function over frozen values:

| module | function | yields |
|---|---|---|
| `place` | `place(model, soc, backends, rules, order=, mode=)` | `PartitionGraph`: what goes where, and why |
| `network` | `JobShop(wanted, survey, problem)` | `Jobs`: the same problem as a scheduler sees it |
| `search` | `search(scheduler, chain, exact=)` | `Found`: a `JobSchedule`, a bound, how it was found |
| `lowering_order` | `lowering_order(graph, soc, codegens, policy)` | `LoweringOrder` |
| `residence` | `choose_homes(work, drained, spilled)` | `TensorHomes`: the memories tensors live in |
| `steps` | `order_steps(work, residence)` | `StepOrder` with lifetimes |
| `allocate` | `allocate(buffers, capacities)` | `MemoryPlan` |
| `fit` | `fit_memory(work)` | `StepOrder` and `MemoryPlan` that fit |
| `budget` | `budget(partition, steps, plan, soc)` | `Budget` for a partition not yet lowered |
| `check` | `check(soc, steps, plan)` | nothing, or raises `CheckError` with every fault |
| `lower_all` | `lower_in_order(...)` | `Lowered`: all of the above, with the backends in the loop |
| `multi_model` | `pack_models(soc, models, arenas, plan)` | `Lowered` of each model, so that all fit |

Whatever goes wrong is a `DiagnosticError` of `errors`.
"""
