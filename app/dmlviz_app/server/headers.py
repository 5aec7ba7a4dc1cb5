"""Headers that say how long an answer may be kept, and by whom."""

NO_STORE = {"Cache-Control": "no-store"}
PRIVATE_IMMUTABLE = {"Cache-Control": "private, max-age=31536000, immutable"}  # in one browser, in no proxy
UNCOMPRESSED = {"Content-Encoding": "identity"}  # quantized positions do not become smaller
STREAM = NO_STORE | {"X-Accel-Buffering": "no"}  # a line of events may not wait in a proxy
