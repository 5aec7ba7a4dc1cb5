"""What the lab *Who is it?* measures. Loads no torch."""

RANKS = (1, 2, 3, 5, 10, 20, 50, 100)
GALLERY_SIZES = (100, 200, 400, 751)  # identities
COLLAPSED_MAP = 0.01  # below it, all embeddings lie in one point
SIZES = "sizes.npz"  # of a trial: rank-1 and MAP with the first one, two, … all identities in the gallery
