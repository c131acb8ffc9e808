"""Ids of hash grids, hierarchies and meshes: from the number that a kernel gets to what it stands for.

In: an id. Out: the address of the record of an object that is alive and of the right kind, or 0.

    id  =  kind + 4 * generation + address     the record's address, a multiple of 256 below 2**48, and in its low bits
         + seal << 48                          what tells objects at one address apart; a hash of all these bits

A number that is no id, zero and small numbers among them, fails the seal, and its address is never read. Memory of
records is never given back (`_geometry_ids.py`): the id of an object that is gone finds a record with another id.
"""


def _record_of(id: uint64, kind: uint64):
    low = id & uint64(0xFFFFFFFFFFFF)
    is_sealed = (low * uint64(2177342782468422677)) >> uint64(49) == id >> uint64(48)
    address = uint64(0)
    if is_sealed and (low & uint64(3)) == kind:
        address = low & uint64(0xFFFFFFFFFF00)
        if _at(uint64, address) != id:
            address = uint64(0)
    assert address != uint64(0), "the id is of no object of this kind that exists"
    return address
