"""The study's tables, one file each; `orla.catalogue.parts("table")` finds them."""
