"""The message by which a holder records a validation: `POST validation`, with the lease token."""

from app.domain.agent_api import WriteRequest
from app.domain.validation import Validation


class ValidationRequest(WriteRequest):
    """One profile's result. Predecessor, generation and time are set by the service, whatever is sent."""

    validation: Validation
