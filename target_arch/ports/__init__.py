"""The ports and load processes that come with the runtime. They are found by entry point; no module imports
them.
"""
