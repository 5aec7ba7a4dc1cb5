"""What a visitor's playground asks the nets of a lab, answered in a worker."""
