"""What Expression is made of: the methods of each family."""
