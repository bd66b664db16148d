"""The same work on Firesteel and on its peers: ``make bench-peers``."""
