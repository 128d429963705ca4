"""The same values seen otherwise: other sizes, another order, put together, stretched, bordered."""
