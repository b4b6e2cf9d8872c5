"""The ports and load processes that come with the runtime. Found by entry point, imported by nobody."""
