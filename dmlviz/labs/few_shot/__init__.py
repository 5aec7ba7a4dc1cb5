"""The lab *From one example*: few-shot classification of numbers that no net was trained on."""
