"""Pictures without a window: what is drawn where, on every device alike, and files of scenes."""

import struct
import zlib

import numpy as np
import pytest

import gridstride as wp
import gridstride.render
from gridstride.render import raster, shapes

UPRIGHT = (0.0, 0.0, 0.0, 1.0)
BARE = {"draw_grid": False, "draw_sky": False, "draw_axis": False, "background_color": (0.0, 0.0, 0.0)}
FAR = 100.0


def renderer(width=32, height=32, **options):
    options = {"camera_pos": (0.0, 0.0, 10.0), "camera_fov": 30.0, **BARE, **options}
    return wp.render.OpenGLRenderer(headless=True, screen_width=width, screen_height=height, **options)


def picture(made, draw=True):
    """Colors from 0 to 1 and distances."""
    if draw:
        made.begin_frame(0.0)
        made.end_frame()
    size = made.screen_height, made.screen_width
    colors, depths = wp.zeros((*size, 3), dtype=float, device="cpu"), wp.zeros((*size, 1), dtype=float, device="cpu")
    assert made.get_pixels(colors, split_up_tiles=False)
    assert made.get_pixels(depths, split_up_tiles=False, mode="depth")
    return colors.numpy(), depths.numpy()[..., 0]


def fill(made):
    """One of everything."""
    made.render_ground(plane=(0.0, 1.0, 0.0, -1.0))
    made.render_sphere("sphere", (0.0, 0.5, 0.0), UPRIGHT, 0.8)
    made.render_box("box", (1.5, 0.0, 0.0), (0.0, 0.4, 0.0, 0.9), (0.4, 0.6, 0.4), color=(0.9, 0.2, 0.1))
    made.render_capsule("capsule", (-1.5, 0.0, 0.0), UPRIGHT, 0.3, 0.4, up_axis=0)
    made.render_cylinder("cylinder", (-1.5, 1.2, 0.0), UPRIGHT, 0.3, 0.4, up_axis=2)
    made.render_cone("cone", (1.5, 1.4, 0.0), UPRIGHT, 0.3, 0.4)
    made.render_arrow("arrow", (0.0, -0.9, 2.0), UPRIGHT, 0.1, 0.5)
    made.render_mesh("mesh", [[-2, -1, 1], [0, -1, 2], [-1, 1, 1]], [0, 1, 2], colors=(0.2, 0.7, 0.9))
    made.render_points("points", [[0.3, -0.5, 3.0], [0.6, -0.5, 3.0]], 0.1, colors=(0.9, 0.9, 0.1))
    made.render_line_strip("strip", [[-1, 1, 2], [0, 1.5, 2], [1, 1, 2]], radius=0.05)
    made.render_line_list("list", [[-1, -1, 3], [1, -1, 3]], [0, 1], color=(1.0, 0.0, 1.0))
    return made


def test_a_frame_is_the_same_on_every_device():
    options = {"draw_grid": True, "draw_sky": True, "draw_axis": True, "near_plane": 0.5}
    compiled = fill(renderer(40, 30, device="cpu", **options))
    colors, depths = picture(compiled)
    others = [fill(renderer(40, 30, device="interp", **options))]
    if wp.get_cuda_device_count():
        others.append(fill(renderer(40, 30, device="cuda:0", **options)))
    for other in others:
        found = picture(other)
        np.testing.assert_array_equal(found[0], colors)
        np.testing.assert_array_equal(found[1], depths)
    # The ground, the sky and at least ten colors of things.
    assert len(np.unique(colors.reshape(-1, 3), axis=0)) > 100
    assert 3.5 < depths.min() < depths.max() == FAR


@pytest.mark.parametrize("kind", ["mesh", "points", "capsule", "line"])
def test_a_ball_is_seen_where_it_is(kind):
    made = renderer(33, 33, n_samples=1)
    at = (0.5, 0.25, -1.0)
    if kind == "mesh":
        made.render_sphere("it", at, UPRIGHT, 1.0, color=(0.0, 1.0, 0.0))
    elif kind == "points":
        made.render_points("it", wp.array([at], dtype=wp.vec3), 1.0, colors=(0.0, 1.0, 0.0))
    elif kind == "capsule":
        made.render_capsule("it", at, UPRIGHT, 1.0, 0.0, color=(0.0, 1.0, 0.0))
    else:
        made.render_line_strip("it", [at, at], (0.0, 1.0, 0.0), radius=1.0)
    colors, depths = picture(made)
    # Ray by ray: the distance along the view of the nearer of two points at one unit from the center.
    steps = np.tan(np.radians(15.0)) * (2.0 * np.arange(33) + 1.0 - 33.0) / 33.0
    rays = np.stack(np.broadcast_arrays(steps[None, :], -steps[:, None], -1.0), axis=-1)
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    center = np.array(at) - (0.0, 0.0, 10.0)
    along = rays @ center
    inside = 1.0 - (center @ center - along**2)
    expected = np.where(inside > 0.0, -rays[..., 2] * (along - np.sqrt(np.maximum(inside, 0.0))), FAR)
    rim = 0.1 if kind in ("mesh", "capsule") else 1e-3
    surely = (inside < -rim) | (inside > rim)
    np.testing.assert_allclose(depths[surely], expected[surely], atol=0.03 if rim > 0.01 else 1e-4)
    assert (inside > rim).sum() > 80
    green, red = colors[..., 1][inside > rim], colors[..., 0][inside > rim]
    assert (green > red).all() and green.max() > 0.8
    assert (colors[inside < -rim] == 0.0).all()


def test_neighboring_triangles_leave_no_gap_and_the_nearer_wins():
    made = renderer(64, 64, n_samples=1)
    grid = np.linspace(-4.0, 4.0, 40)
    x, y = np.meshgrid(grid, grid)
    z = 0.3 * np.sin(5.0 * x + 3.0 * y)
    first = (np.arange(39)[:, None] * 40 + np.arange(39)).ravel()
    faces = np.concatenate(
        [np.stack([first, first + 1, first + 40], 1), np.stack([first + 1, first + 41, first + 40], 1)]
    )
    made.render_mesh("sheet", np.stack([x, y, z], -1).reshape(-1, 3), faces, colors=(1.0, 1.0, 1.0))
    assert (picture(made)[1] < 11.0).all()
    made.render_box("before", (0.0, 0.0, 3.0), UPRIGHT, (0.2, 0.2, 0.2), color=(1.0, 0.0, 0.0))
    colors, depths = picture(made)
    assert depths[32, 32] == pytest.approx(6.8, abs=1e-3) and colors[32, 32, 0] > 2.0 * colors[32, 32, 1]


@pytest.mark.parametrize("up_axis", ["X", "Y", "Z"])
def test_the_ground_reaches_from_under_the_camera_to_the_far_plane(up_axis):
    made = renderer(16, 64, up_axis=up_axis, camera_pos=(0.0, 1.0, 0.0), camera_fov=90.0, far_plane=1000.0, n_samples=1)
    made.render_ground()
    _, depths = picture(made)
    row = np.arange(64) + 0.5
    expected = 1.0 / np.maximum((row - 32.0) / 32.0, 1e-9)
    below, above = row > 33.0, row < 32.0
    np.testing.assert_allclose(depths[below], np.repeat(expected[below, None], 16, axis=1), rtol=1e-4)
    assert (depths[above] == 1000.0).all()
    up = np.eye(3)["XYZ".index(up_axis)]
    # As high above the ground as far from the camera, five units before it.
    before = {"X": (0, 0, 0), "Y": (0, 0, -5), "Z": (-5, 0, 0)}[up_axis] if up_axis != "X" else (0, -5, 0)
    made.render_points("star", [3.0 * up + before], 0.5, colors=(1.0, 0.0, 0.0))
    colors, _ = picture(made)
    rows = np.argwhere(colors[..., 0] > 2.0 * colors[..., 1] + 0.1)[:, 0]
    assert len(rows) > 3 and rows.max() < 32


def test_faces_seen_from_behind_are_left_out_unless_asked_for():
    made = renderer()
    corners, face = [[-1, -1, 0], [1, -1, 0], [0, 1, 0]], [0, 2, 1]
    made.render_mesh("back", corners, face, smooth_shading=False)
    assert (picture(made)[1] == FAR).all()
    made.enable_backface_culling = False
    n_seen = (picture(made)[1] < FAR).sum()
    made.render_wireframe = True
    assert 0 < (picture(made)[1] < FAR).sum() < n_seen


def test_things_move_are_hidden_and_go():
    made = renderer()
    shape = made.render_sphere("ball", (0.0, 0.0, 0.0), UPRIGHT, 1.0)
    assert made.render_sphere("ball", (0.0, 0.0, 5.0), UPRIGHT, 1.0) == shape and made.num_instances == 1
    assert picture(made)[1].min() == pytest.approx(4.0, abs=0.05)
    made.render_ref("other", "ball", (0.0, 0.0, 6.0), UPRIGHT, (0.5, 0.5, 0.5))
    assert picture(made)[1].min() == pytest.approx(3.5, abs=0.05)
    made.update_shape_instance("other", visible=False)
    made.render_sphere("ball", (0.0, 0.0, 5.0), UPRIGHT, 1.0, visible=False)
    assert (picture(made)[1] == FAR).all()
    made.deregister_shape(shape)
    assert (made.num_shapes, made.num_instances) == (0, 0)
    made.render_points("points", [[0.0, 0.0, 0.0]], 1.0)
    assert picture(made)[1].min() < FAR
    made.clear()
    assert (picture(made)[1] == FAR).all() and made.is_running()
    made.close()
    assert made.has_exit


def test_vertices_move_and_bodies_carry_instances():
    made = renderer()
    points = wp.array([[-1, -1, 0], [1, -1, 0], [0, 1, 0]], dtype=wp.vec3)
    shape = made.render_mesh("mesh", points, [0, 1, 2])
    points = wp.array([[-1, -1, 2], [1, -1, 2], [0, 1, 2]], dtype=wp.vec3)
    assert made.render_mesh("mesh", points, [7, 8, 9]) == shape
    assert picture(made)[1].min() == pytest.approx(8.0, abs=1e-3)
    with pytest.raises(ValueError, match="3 vertices, not 1"):
        made.update_shape_vertices(shape, points[:1])
    # Another mesh that looks the same moves by itself.
    twin = made.render_mesh("twin", points, [0, 1, 2])
    made.render_mesh("twin", [[-1, -1, 4], [1, -1, 4], [0, 1, 4]], [])
    assert twin != shape and picture(made)[1].min() == pytest.approx(6.0, abs=1e-3)

    body = made.register_body("arm")
    made.render_box("hand", (0.0, 0.0, 1.0), UPRIGHT, (0.5, 0.5, 0.5), parent_body="arm")
    made.update_body_transforms(wp.array([wp.transform((0.0, 0.0, 5.0), UPRIGHT)], dtype=wp.transform))
    assert body == 0 and picture(made)[1].min() == pytest.approx(3.5, abs=1e-3)
    made.update_body_transforms(None)
    made.scaling = 2.0
    assert picture(made)[1].min() == pytest.approx(2.0, abs=1e-3)


def test_tiles_show_their_own_instances_through_their_own_cameras():
    made = renderer(96, 32)
    shape = made.render_sphere("ball", (0, 0, 0), UPRIGHT, 1.0, is_template=True)
    numbers = [made.add_shape_instance(f"{z}", shape, None, (0.0, 0.0, z), UPRIGHT) for z in (0.0, 2.0)]
    nearer = made.compute_view_matrix((0.0, 0.0, 5.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
    made.setup_tiled_rendering([[numbers[0]], [numbers[1]], [numbers[0]]], tile_ncols=3, tile_nrows=1)
    made.update_tile(2, view_matrix=nearer)
    made.end_frame()
    assert (made.num_tiles, made.tile_width, made.tile_height) == (3, 32, 32)
    depths = wp.zeros((3, 32, 32, 1), dtype=float)
    assert made.get_pixels(depths, mode="depth")
    np.testing.assert_allclose(depths.numpy().min(axis=(1, 2, 3)), [9.0, 7.0, 4.0], atol=0.05)
    # The same as from the whole picture.
    colors = wp.zeros((3, 32, 32, 3), dtype=wp.uint8)
    assert made.get_pixels(colors, use_uint8=True)
    whole = picture(made, draw=False)[0]
    np.testing.assert_array_equal(np.concatenate(list(colors.numpy() / np.float32(255.0)), axis=1), whole)
    made.update_tile(1, tile_position=(0, 0), tile_size=(16, 32))
    with pytest.raises(RuntimeError, match="tiles of one size"):
        made.get_pixels(depths, mode="depth")
    made.tiled_rendering = False
    assert picture(made)[1].min() == pytest.approx(7.0, abs=0.05)


def test_mistakes_are_named():
    with pytest.raises(NotImplementedError, match="there are no windows"):
        wp.render.OpenGLRenderer(headless=False)
    with pytest.raises(ValueError, match="planes must be positive"):
        renderer(near_plane=2.0, far_plane=1.0)
    with pytest.raises(ValueError, match="needs a direction"):
        renderer(camera_front=(0.0, 0.0, 0.0))
    made = renderer()
    with pytest.raises(ValueError, match=r"target_image shape must be \(32, 32, 3\), got \(2,\)"):
        made.get_pixels(wp.zeros(2, dtype=float), split_up_tiles=False)
    with pytest.raises(ValueError, match="must be of float32, got uint8"):
        made.get_pixels(wp.zeros((32, 32, 3), dtype=wp.uint8), split_up_tiles=False)
    with pytest.raises(ValueError, match="mode is"):
        made.get_pixels(wp.zeros((32, 32, 3), dtype=float), split_up_tiles=False, mode="normal")
    with pytest.raises(ValueError, match=r"range \[0, 3\), found those from 0 to 3"):
        made.render_mesh("mesh", np.zeros((3, 3)), [0, 1, 3])
    with pytest.raises(ValueError, match="one for each of 2 points, not 3"):
        made.render_points("points", np.zeros((2, 3)), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="must each contain 2 entries"):
        made.setup_tiled_rendering([[], []], tile_positions=[(0, 0)], tile_sizes=[(8, 8)])
    with pytest.raises(RuntimeError, match="not set up"):
        made.tiled_rendering = True


def test_a_png_holds_the_pixels(tmp_path):
    made = fill(renderer(20, 10))
    colors, _ = picture(made)
    raw = made.save_image(tmp_path / "new" / "scene.png").read_bytes()
    assert raw[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", raw[16:24]) == (20, 10)
    n = struct.unpack(">I", raw[33:37])[0]
    rows = np.frombuffer(zlib.decompress(raw[41 : 41 + n]), np.uint8).reshape(10, 61)
    assert (rows[:, 0] == 0).all() and zlib.crc32(raw[37 : 41 + n]) == struct.unpack(">I", raw[41 + n : 45 + n])[0]
    np.testing.assert_array_equal(rows[:, 1:].reshape(10, 20, 3) / np.float32(255.0), colors)
    made.render_depth = True
    assert made.save_image(tmp_path / "depth.png").read_bytes() != raw


@pytest.mark.parametrize(
    "mesh",
    [
        shapes.sphere(1.0),
        shapes.capsule(0.5, 1.0, 2),
        shapes.cylinder(1.0, 0.5, 0),
        shapes.cone(1.0, 1.0),
        shapes.box((1.0, 2.0, 3.0)),
        shapes.arrow(0.2, 1.0),
    ],
    ids=["sphere", "capsule", "cylinder", "cone", "box", "arrow"],
)
def test_solids_are_closed_and_their_faces_look_outside(mesh):
    a, b, c = (mesh.vertices[mesh.corners[:, k]].astype(np.float64) for k in range(3))
    normals = np.cross(b - a, c - a)
    has_area = np.linalg.norm(normals, axis=1) > 1e-9
    assert (np.einsum("ij,ij->i", normals, mesh.normals[mesh.corners[:, 0]])[has_area] > 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1.0, atol=1e-6)
    # A closed surface: the areas add up to nothing; its volume is positive.
    np.testing.assert_allclose(normals.sum(axis=0), 0.0, atol=1e-6)
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() > 0.0


def test_what_is_large_is_drawn_by_strips():
    made = renderer(64, 64, camera_pos=(0.0, 0.0, 3.0), near_plane=0.1)
    made.render_points("near", [[0.0, 0.0, 0.0]], 1.0)
    _, depths = picture(made)
    assert raster.LARGE < (2 * 64) ** 2 and (depths < FAR).sum() > 64 * 64 // 2
    assert depths.min() == pytest.approx(2.0, abs=1e-3)


def test_a_usd_file(tmp_path):
    file = tmp_path / "scene.usda"
    film = wp.render.UsdRenderer(file, up_axis="Z", fps=24)
    film.register_body("arm")
    for frame in (0, 1, 2, 3):
        film.begin_frame(frame / 24)
        film.render_sphere("ball", (0.0, 0.0, max(frame, 2)), UPRIGHT, 0.5, color=(1.0, 0.0, 0.0))
        film.render_box("hand", (1.0, 0.0, 0.0), wp.quat_identity(), (1.0, 2.0, 3.0), parent_body="arm")
        film.render_points("dust", wp.array([[frame, 0, 0]], dtype=wp.vec3), [0.5], as_spheres=False)
        film.end_frame()
    assert film.save()
    text = file.read_text()
    for words in ("#usda 1.0", 'upAxis = "Z"', "endTimeCode = 3", "framesPerSecond = 24", 'defaultPrim = "root"'):
        assert words in text
    ball = text[text.index('def Sphere "ball"') :].partition("def Xform")[0]
    # Still until the second frame, and moving after it: what readers interpolate.
    moves = "double3 xformOp:translate.timeSamples = { 0: (0, 0, 2), 2: (0, 0, 2), 3: (0, 0, 3), }"
    assert moves in " ".join(ball.split()) and "quatf xformOp:orient = (1, 0, 0, 0)" in ball
    assert 'color3f[] primvars:displayColor = [(1, 0, 0)] (\n            interpolation = "constant"' in ball
    hand = text[text.index('def Xform "arm"') :]
    assert hand.index('def Cube "hand"') < hand.index("float3 xformOp:scale = (1, 2, 3)")
    assert "3: [(3, 0, 0)]," in text and "float[] widths = [1]" in text


def test_what_a_usd_file_does_not_take(tmp_path):
    with pytest.raises(ValueError, match=r"`\.usda` or `\.usd`, not `\.usdc`"):
        wp.render.UsdRenderer("scene.usdc")
    with pytest.raises(TypeError, match="writes USD files itself"):
        wp.render.UsdRenderer(object())
    film = wp.render.UsdRenderer(tmp_path / "nowhere" / "scene.usda")
    with pytest.raises(ValueError, match="letters, digits"):
        film.render_sphere("my ball", (0.0, 0.0, 0.0), UPRIGHT, 1.0)
    with pytest.raises(KeyError, match="register_body"):
        film.render_sphere("ball", (0.0, 0.0, 0.0), UPRIGHT, 1.0, parent_body="arm")
    template = film.render_box("template", (0, 0, 0), UPRIGHT, (1.0, 2.0, 1.0), is_template=True)
    film.add_shape_instance("one", template, None, (0.0, 1.0, 0.0), UPRIGHT, scale=(2.0, 2.0, 2.0))
    one = "\n".join(film.root.children["one"].lines())
    assert f"prepend references = <{film.root.path}/_template_shapes/template>" in one and "(2, 4, 2)" in one
    with pytest.raises(OSError):
        film.save()
