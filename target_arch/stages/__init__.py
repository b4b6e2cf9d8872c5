"""Pure graph algorithms, plan to plan: no TVM, no files, no processes. Tests: `tests/stages`.

The sub-packages in the order in which a model goes through them, each with its main function:

| sub-package | function | yields |
|---|---|---|
| `setting` | `Setting.of(soc, backends, mode)` | `Setting`: everything that one compilation holds fixed |
| `paths` | `reach.memory_access(soc, mode, instance)` | `MemoryAccess`: where it reads and writes tensors |
| `placement` | `place.place(model, setting, backends)` | `PartitionGraph`: the instance of every operator |
| `lowering` | `order.lowering_order(graph, soc, codegens, policy)` | `LoweringOrder` of the partitions |
| `regions` | `choose.choose(graph, setting, memory, capacity)` | neighbours that run in stripes |
| `program` | `join.join(work, homes)` | `Program`: kernels, stand-ins and copies over buffers |
| `steps` | `fit.fit_memory(work)` | `Fitted`: a `StepOrder` with a `MemoryPlan` that fits |
| `memory` | `allocate.allocate(buffers, capacities)` | `MemoryPlan`: an offset for every buffer |
| `check` | `plan.check(soc, steps, plan)` | nothing; raises `CheckError` with every fault |
| `lowering` | `ladder.lower_in_order(...)` | `Lowered`: all of the above, with the backends in the loop |

`lowering` comes twice: it orders the partitions, and it drives all other sub-packages. For several models,
`memory.multi_model.pack_models` calls the whole way once per model. All errors are `DiagnosticError`s
(`errors`).
"""
