"""Reports: JSON Lines is the report; everything else is derived from it alone."""
