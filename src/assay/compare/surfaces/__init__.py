"""Compare surfaces, file size by record size, of two sides: cells, means, regions and landmarks."""
