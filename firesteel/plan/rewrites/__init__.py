"""The steps from the graph to the plan, one in each file. Each takes what those before it have made."""
