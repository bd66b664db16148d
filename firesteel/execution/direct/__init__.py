"""Direct exchange: slots that hand chunks to each other, and a driver that only orders epochs.

``slot_flow`` is one slot's part of an epoch, without I/O; ``lines`` and ``door`` are the transport; ``member`` is the
loop of a slot process, ``conductor`` the driver's side; ``in_process`` runs all slots in one thread.
"""
