"""What there is to choose from: losses, miners, samplers, nets, data sets, metrics, projections. No torch."""
