"""How a program is cut: one file per tiling family, exact counts and legality. No machine is needed here."""
