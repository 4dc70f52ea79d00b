"""Campaigns: their files, judgements by graders, results sites and the server; the core imports nothing of it."""
