"""A job that runs for half an hour under load, watched from outside: does anything grow that should not?"""
