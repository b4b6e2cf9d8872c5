"""Faults planted into right plans: does the checker find each that computes something else?"""
