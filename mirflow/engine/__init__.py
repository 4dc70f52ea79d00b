"""From blocks of work to dask: the only floor that knows dask."""
