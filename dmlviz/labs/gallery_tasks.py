"""What the lab *A gallery that grows* measures. Loads no torch."""

FALSE_ALARMS = tuple(round(10 ** (exponent / 8), 6) for exponent in range(-24, 1))
FALSE_ALARM_RATE = 0.01  # at which thresholds are compared
ENROLLED = (25, 50, 100, 200, 375)  # identities
EXAMPLES = (1, 2, 3, 5, 10)  # of each newcomer
NEWCOMERS = (7, 8, 9)  # digits that no net of the newcomers' part was trained on
EXAMPLES_OF_KNOWN = 10
