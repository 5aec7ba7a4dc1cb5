"""The labs: experiments of the field on small images, each a question with a figure that grows."""
