"""What `scripts/release` is made of: the facts, the build, the forms of archives, and one module for each family of packages."""
