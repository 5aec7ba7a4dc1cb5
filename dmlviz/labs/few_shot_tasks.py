"""What the lab *From one example* measures: its tasks and the numbers of episodes. Loads no torch."""

EMBEDDED = "embedded.npz"  # the test images as a net sees them
EPISODES = 600  # as the papers score
QUERIES = 15  # of each class in an episode
TASKS = {"5-way 1-shot": (5, 1), "5-way 5-shot": (5, 5), "20-way 1-shot": (20, 1)}
TEST_WAYS = (2, 5, 10, 15, 20)
SHOTS = (1, 2, 3, 5, 10)
GROWTH = (10, 20, 50, 100, 200, 400, 600)  # episodes after which the interval is looked at
