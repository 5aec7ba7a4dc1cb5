"""The parts of the pages: sidebar, map, inspector, curves, dialogs."""
