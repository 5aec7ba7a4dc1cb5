"""Labs: the experiments, their studies, figures and playgrounds."""
