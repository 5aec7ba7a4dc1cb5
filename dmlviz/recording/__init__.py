"""Records the training of another program as a run: three lines in any training loop."""

from dmlviz.recording.recording import Recording, RecordingWarning, record

__all__ = ["Recording", "RecordingWarning", "record"]
