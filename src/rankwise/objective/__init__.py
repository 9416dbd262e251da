"""What a solver minimises: losses, risks, rows, chunks, their sum, and how it is built from what a user gives."""
