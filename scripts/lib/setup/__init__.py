"""What `scripts/setup` is made of: one module for each thing that it sets up."""
