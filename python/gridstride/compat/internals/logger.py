"""`warp._src.logger`: the messages of the library."""

from gridstride._logger import *  # noqa: F403
from gridstride._logger import LoggerBasic as LoggerBasic
from gridstride._logger import _warnings_seen as _warnings_seen
from gridstride._logger import log_debug as log_debug
from gridstride._logger import log_error as log_error
from gridstride._logger import log_info as log_info
from gridstride._logger import log_warning as log_warning
