"""Folders of bundles: read, written whole or not at all, and never a file of somebody else touched."""
