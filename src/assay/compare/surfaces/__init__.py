"""Surfaces, file size by record size, of two sides held against each other: cells, means, regions and landmarks."""
