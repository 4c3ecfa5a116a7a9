"""What can be measured here, what not, and the cure."""
