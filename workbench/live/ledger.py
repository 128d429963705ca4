"""Which gestures were answered: each is done once and in order, however often and in whatever order it arrives.

A page keeps a gesture until it has the answer, and sends it again where none comes: a message may be lost on the way,
and so may the answer to one that was done. So a gesture carries its sender (one load of one page), its number there,
and the oldest number to which its sender has no answer yet: what is older will not be asked for again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from workbench.live.messages import PROTOCOL_VERSION, Reply, Request
from workbench.live.model import Refused

__all__ = ["MAXIMUM_REPLIES", "MAXIMUM_SENDERS", "Ledger", "ledger"]

MAXIMUM_SENDERS = 64
"""Of so many senders is known what they have asked; the one that was silent for longest is forgotten."""

MAXIMUM_REPLIES = 1000
"""So many answers are kept for each sender; a page lets fewer gestures wait."""

FORGOTTEN = "this was answered before, and the answer is not kept any more; look whether it was done"


@dataclass
class _Sender:
    """What one sender has been answered. `lock` is held while a gesture is done, so that a repetition of it waits."""

    due: int
    replies: dict[int, Reply] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Ledger:
    """What every sender has been answered; safe to be used from any thread.

    >>> from workbench.live.messages import Reply, Request
    >>> ledger = Ledger()
    >>> def do(request):
    ...     print("done")
    ...     return Reply("reply", 2, request.sender, request.number, request.model, True, "")
    >>> gesture = Request("event", 2, "page", 1, 1, "graph-1", {"type": "select", "id": None})
    >>> ledger.once(gesture, do).accepted
    done
    True
    >>> ledger.once(gesture, do).accepted
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._senders: dict[str, _Sender] = {}

    def once(self, request: Request, do: Callable[[Request], Reply]) -> Reply | None:
        """Return the answer to `request`: what ``do(request)`` returns the first time, and the same ever after.

        None if an earlier gesture of the sender has not arrived: this one is not its turn, and will be sent again.

        Raises:
            Refused: its numbers are none.
        """
        if not 1 <= request.oldest <= request.number:
            raise Refused(
                "'event'.number counts from 1 and 'event'.oldest is at most that, "
                f"not {request.number} and {request.oldest}"
            )
        sender = self._sender(request)
        with sender.lock:
            # A sender's word that it has the older answers; also how a kernel that forgot one begins again.
            for number in [number for number in sender.replies if number < request.oldest]:
                del sender.replies[number]
            sender.due = max(sender.due, request.oldest)
            if request.number > sender.due:
                return None
            if request.number < sender.due:
                return sender.replies.get(request.number) or _forgotten(request)
            reply = do(request)
            sender.replies[request.number] = reply
            sender.due += 1
            if len(sender.replies) > MAXIMUM_REPLIES:
                del sender.replies[min(sender.replies)]
            return reply

    def _sender(self, request: Request) -> _Sender:
        with self._lock:
            known = self._senders.pop(request.sender, None) or _Sender(request.oldest)
            self._senders[request.sender] = known  # the latest last
            while len(self._senders) > MAXIMUM_SENDERS:
                del self._senders[next(iter(self._senders))]
            return known


def _forgotten(request: Request) -> Reply:
    return Reply("reply", PROTOCOL_VERSION, request.sender, request.number, request.model, False, FORGOTTEN)


ledger = Ledger()
"""What the pages of this process have been answered."""
