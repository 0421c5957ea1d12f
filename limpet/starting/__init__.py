"""How a site file begins: pages are looked at, guesses are made of what is seen, and a draft is written of them."""
