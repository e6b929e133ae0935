"""How large a Parquet file becomes in memory, found before that memory is taken."""

from typing import Any

# Bytes of a value in memory, by the physical types of Parquet; of a text where it begins.
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8, "BYTE_ARRAY": 4}


def size_in_memory(source: Any, limit: float) -> int:
    """Bytes that the values of a file take, or more than the limit: runs of equal values are stored as one.

    So are texts that are repeated. Where one of them might be so long that all are too many, they are counted as
    places in their dictionaries, which take little memory.
    """
    import pyarrow.parquet as pq

    metadata = pq.ParquetFile(source).metadata
    size, long = 0, set()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for place in range(group.num_columns):
            chunk = group.column(place)
            width = _WIDTHS.get(chunk.physical_type) or metadata.schema.column(place).length
            size += max(chunk.total_uncompressed_size, chunk.num_values * width)
            if chunk.physical_type == "BYTE_ARRAY" and chunk.num_values * chunk.total_uncompressed_size > limit:
                long.add(chunk.path_in_schema)
    if size <= limit and long:
        coded = pq.ParquetFile(source, read_dictionary=sorted(long))
        for group in range(metadata.num_row_groups):
            size += sum(map(_size_of_texts, coded.read_row_group(group, sorted(long)).columns))
    return size


def _size_of_texts(column: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    size = 0
    for chunk in column.chunks:
        while pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type):
            chunk = chunk.flatten()
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.cast(pc.binary_length(chunk.dictionary), pa.int64())
            size += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return size
