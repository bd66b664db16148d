"""State: tables, timers, key groups, snapshots and the store that keeps checkpoints."""
