"""mirflow scores music information retrieval systems over whole datasets."""
