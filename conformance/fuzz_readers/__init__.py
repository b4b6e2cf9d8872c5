"""Mutants of every kind of file that is read: is each read or refused, in time and within memory?"""
