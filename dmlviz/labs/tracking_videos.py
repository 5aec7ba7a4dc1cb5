"""The videos that the player of the lab *tracking* may be asked for; the page, the lab and the worker all ask."""

VIDEOS = 100
FIRST_VIDEO = 7  # of MNIST: one in which the methods part; in most they do not
USUAL_DISTRACTORS = 3  # those of the data set tracks
MOST_DISTRACTORS = 6
USUAL_NOISE = 8.0  # gray levels
MOST_NOISE = 60.0
