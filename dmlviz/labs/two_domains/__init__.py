"""The lab *Sketch and photograph*: two domains, with all, the last or no layers in common."""
