"""The control plane of a job without its hands: what happens goes in, what is to be done comes out."""
