"""Small helpers and the public path of the Lie algebra."""
