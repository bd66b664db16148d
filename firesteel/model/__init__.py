"""What users write and the runtime calls: functions, state, windows, triggers, evictors, output tags,
sources, sinks.

No engine code lives here. ``firesteel.datastream`` re-exports the names for users.
"""
