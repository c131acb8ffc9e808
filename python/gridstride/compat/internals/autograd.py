"""`warp._src.autograd`: what programs take from it."""

from gridstride.autograd import FunctionMetadata as FunctionMetadata
from gridstride.autograd import gradcheck as gradcheck
from gridstride.autograd import gradcheck_tape as gradcheck_tape
from gridstride.autograd import jacobian as jacobian
from gridstride.autograd import jacobian_fd as jacobian_fd
from gridstride.autograd import jacobian_plot as jacobian_plot
