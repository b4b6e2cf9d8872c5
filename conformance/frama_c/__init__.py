"""Proofs about the C of the runtime by Frama-C: no access out of bounds, whatever tables and files hold."""
