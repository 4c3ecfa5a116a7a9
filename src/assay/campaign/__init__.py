"""File systems x options x schedulers x loads: a campaign, carried out cell by cell and kept in one folder."""
