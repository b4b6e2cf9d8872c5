"""Pages of HTML that need nothing beside themselves."""
