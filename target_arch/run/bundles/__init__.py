"""Folders of bundles: read, and written whole or not at all, without touching foreign files."""
