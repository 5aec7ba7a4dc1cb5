"""The lab *Who is it?*: re-identification across cameras, and the table of Hermans, Beyer and Leibe."""
