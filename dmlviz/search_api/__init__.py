"""A run's net and its test images as a small web service: send a picture, get its nearest neighbors."""
