"""What the modules of PyFlink's names are made of. Nothing outside ``firesteel.datastream`` imports from here."""
