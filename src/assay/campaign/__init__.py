"""Measure a campaign: file systems x options x schedulers x loads, cell by cell, kept in one folder."""
