"""The study's figures, one file each; `orla.catalogue.parts("figure")` finds them."""
