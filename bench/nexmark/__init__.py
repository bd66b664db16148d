"""Nexmark: an online auction, and queries over its stream of persons, auctions and bids.

``model`` says what events look like and ``generator`` makes them; both are plain Python without Firesteel, so that
other systems can be fed with the same events. ``source`` is the generator as a source of a job, ``queries`` are the
programs, ``oracle`` computes the same answers with Spark SQL, and ``python -m bench.nexmark`` measures.
"""
