"""Compiled inner loops: contiguous arrays and scalars in, arrays or scalars out, one thread each."""
