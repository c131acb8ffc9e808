"""Hash grids, bounding volume hierarchies and triangle meshes: what the host keeps of them.

In: arrays of points, bounds, triangles. Out: objects whose `id` kernels pass to the queries of `gridstride/lib`, which
are written in the kernel language. A `records.Record` is where a kernel finds an object's arrays by its id.
"""
