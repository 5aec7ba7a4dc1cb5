"""The lab *Reality check*: who competes, how their settings are searched, what is made of the results."""
