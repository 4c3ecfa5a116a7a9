"""Rules of storage: what a kind of device, link or protocol usually gives, and what it cannot exceed, with sources."""
