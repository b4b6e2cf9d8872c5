"""JSON Schemas of the results of the API, made from the types of their JSON."""
