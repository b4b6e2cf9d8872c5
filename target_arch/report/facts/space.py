"""A compared set of chips for readers: points with values and goals, on axes."""

from attrs import frozen


@frozen(kw_only=True)
class ShownAxis:
    """An axis: its name, and the texts of its lowest and highest value."""

    name: str
    low: str
    high: str


@frozen(kw_only=True)
class ShownPoint:
    """A point: its number, its place on every axis from 0 to 1, and the cells of its row."""

    number: int
    places: tuple[float, ...]
    cells: tuple[str, ...]
    front: bool


@frozen(kw_only=True)
class ShownProgress:
    """A search that runs: so many points of so many are known. The page is read again after so many seconds;
    `dashboard` is the address of the workers' own page, empty where they have none.
    """

    done: int
    every: int
    seconds: int
    dashboard: str = ""


@frozen(kw_only=True)
class ShownSpace:
    """The points that fit. The last axes are `goals` goals, those before the variations. `head` are the names
    of the cells; `counts` and `sentences` are whole sentences, `command` writes the SoC file of a point.
    """

    name: str
    axes: tuple[ShownAxis, ...]
    goals: int
    points: tuple[ShownPoint, ...]
    head: tuple[str, ...]
    counts: str
    best: str
    sentences: tuple[str, ...]
    command: str

    @property
    def front(self) -> tuple[ShownPoint, ...]:
        """The points on the front, in their order."""
        return tuple(point for point in self.points if point.front)
