"""Learn: the index of the catalog, its entries, topics, lessons and exam questions."""
