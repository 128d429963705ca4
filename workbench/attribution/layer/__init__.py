"""Methods that explain by what a layer gives."""
