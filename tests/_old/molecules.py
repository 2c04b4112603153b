"""Small structures as text, made here: what programs write, column by column."""

import numpy as np

RESIDUES = ("GLY", "LEU", "SER", "ALA")


def chain(count, seed=0, step=3.8):
    """Beads with steps of one length in a ball, so that neighbours beyond the next ones come near."""
    rng = np.random.default_rng(seed)
    places = [np.zeros(3)]
    while len(places) < count:
        turn = rng.standard_normal(3)
        place = places[-1] + step * turn / np.linalg.norm(turn)
        near = np.linalg.norm(place - places, axis=1).min() < step - 1e-9
        if np.linalg.norm(place) < 1.1 * step * count ** (1 / 3) and not near:
            places.append(place)
    return np.round(np.array(places), 3)


def atom(serial, name, residue, chain, number, place, *, alternate=" ", insertion=" ", het=False, element="C"):
    """A line of a PDB file."""
    record = "HETATM" if het else "ATOM  "
    name = name if len(name) == 4 or len(element) == 2 else f" {name}"
    x, y, z = place
    return (
        f"{record}{serial:>5} {name:<4}{alternate}{residue:>3} {chain}{number:>4}{insertion}   "
        f"{x:8.3f}{y:8.3f}{z:8.3f}{1:6.2f}{0:6.2f}          {element:>2}\n"
    )


def pdb(places, chain="A", first=1):
    """Cα atoms as a PDB file."""
    lines = [
        atom(k, "CA", RESIDUES[k % 4], chain, first + k, place) for k, place in enumerate(np.asarray(places).tolist())
    ]
    return "".join(lines) + "END\n"


CIF_HEAD = "data_MADE\n#\nloop_\n" + "".join(
    f"_atom_site.{name}\n"
    for name in (
        "group_PDB", "id", "type_symbol", "label_atom_id", "label_alt_id", "label_comp_id", "label_asym_id",
        "label_entity_id", "label_seq_id", "Cartn_x", "Cartn_y", "Cartn_z", "auth_seq_id", "auth_asym_id",
        "pdbx_PDB_model_num",
    )
)  # fmt: skip


def cif(places, chain="A", first=1):
    """The same as mmCIF, in which the authors' chain and numbers are not those of the file."""
    rows = [
        f"ATOM {k + 1} C CA . {RESIDUES[k % 4]} Z 1 {k + 1} {x:.3f} {y:.3f} {z:.3f} {first + k} {chain} 1\n"
        for k, (x, y, z) in enumerate(np.asarray(places).tolist())
    ]
    return CIF_HEAD + "".join(rows) + "#\n"
