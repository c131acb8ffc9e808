"""Pictures of simulations, without a window, a display or a graphics driver: `import gridstride.render`.

    >>> import gridstride.render
    >>> renderer = gridstride.render.OpenGLRenderer(headless=True, screen_width=320, screen_height=240)
    >>> renderer.begin_frame(0.0)
    >>> renderer.render_ground()
    0
    >>> renderer.render_sphere("ball", pos=(0.0, 1.0, 0.0), rot=(0.0, 0.0, 0.0, 1.0), radius=1.0)
    1
    >>> renderer.end_frame()
    >>> pixels = wp.zeros((240, 320, 3), dtype=float, device="cpu")
    >>> renderer.get_pixels(pixels, split_up_tiles=False)
    True

`OpenGLRenderer` draws into memory, by kernels, on any device; `UsdRenderer` writes a file that Blender, usdview and
Omniverse open. Both have Warp's names and arguments.
"""

from gridstride.render.opengl import OpenGLRenderer as OpenGLRenderer
from gridstride.render.usd import UsdRenderer as UsdRenderer
