"""All available losses, miners, samplers, nets, data sets, metrics and projections. No torch."""
