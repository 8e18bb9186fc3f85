"""The operator's commands about repositories, on a service's parts."""

from app.controller.adoption import Adoption
from app.service.running import Parts


def adoption_of(parts: Parts) -> Adoption:
    """Plan, policy and removal with these parts."""
    return Adoption(
        github=parts.github,
        database=parts.database,
        keys=parts.keyring,
        clock=parts.github.clock.now,
        stops=parts.stops,
        resumes=parts.settings.resume,
        has_command=bool(parts.settings.resume_command),
    )
