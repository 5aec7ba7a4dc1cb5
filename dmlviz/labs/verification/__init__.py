"""The lab *Same or not*: verification of identities that no net was trained on."""
