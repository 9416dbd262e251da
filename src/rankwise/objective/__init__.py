"""The objective that a solver minimises: losses, risks, rows, chunks, their sum, and building it from user input."""
