"""When a wish to start an agent, or to give a ticket up, may be carried out: the rules of outages, in the database."""

from app.controller.clock import Clock
from app.controller.database import Database
from app.controller.pokes import PokeStore
from app.controller.stops import Stops
from app.controller.view import View, Views
from app.domain.plan import Abandon, Dispatch, Exhaust, Plan
from app.domain.record import Record
from app.domain.situation import Situation

Wish = Dispatch | Abandon | Exhaust


class Resuming:
    """Lets wishes pass, or makes them wait. `resumes`: the operator's switch for incidents."""

    def __init__(
        self, database: Database, views: Views, pokes: PokeStore, stops: Stops, clock: Clock, *, resumes: bool
    ) -> None:
        self._database = database
        self._views = views
        self._pokes = pokes
        self._stops = stops
        self._clock = clock
        self._resumes = resumes

    async def start(self) -> None:
        """This process begins to work: nothing is carried out for a while."""

    async def tick(self) -> None:
        """The service lives; called every few seconds. Tells what is held. Never raises a GitHubError."""

    async def admitted(self, view: View, situation: Situation, plan: Plan) -> Plan:
        """The plan, with its wishes only where they may be carried out now; a Wait in the place of the others."""
        return plan

    async def carried_out(self, view: View, record: Record, plan: Plan) -> None:
        """The commit that carries out a plan's wishes stands in the ledger, and this record is in it."""

    async def ended(self, view: View) -> None:
        """The ticket is over, or must not be touched: it wants nothing any more."""

    async def reached(self, answered: bool) -> None:
        """GitHub answered, or did not."""
