"""Parts of `numeric_suite_fx`: loggers, and which nodes of two graphs belong together."""
