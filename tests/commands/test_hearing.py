"""What a person says in a comment is seen, carried out once and answered once."""

from spoken_world import SpokenWorld, ticket


async def test_hold_on_the_pull_request_and_unhold_on_the_issue(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    number = int(made.pull()["number"])
    said = await world.say(service, number, "/recovery hold wait for QA")
    record = await made.record()
    assert (record.status, world.reactions(said)) == ("held", ["eyes", "rocket"])
    assert [c["id"] for c in record.commands] == [str(said)]
    assert "`/recovery hold`: done." in world.answer(number, said).lower()
    off = await world.say(service, made.ticket, "/recovery unhold")
    assert (await made.record()).status == "working"
    assert world.reactions(off) == ["eyes", "rocket"]
