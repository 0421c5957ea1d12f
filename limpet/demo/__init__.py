"""`limpet demo`: a shop on real HTTP, a naive scraper and limpet, killed side by side."""
