"""`python -m fcconan`."""

from fcconan.cli import main

main()
