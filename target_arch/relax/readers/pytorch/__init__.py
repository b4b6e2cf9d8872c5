"""The reader of saved PyTorch programs (`.pt2`)."""
