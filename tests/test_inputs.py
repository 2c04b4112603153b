"""What a caller may hand over in memory."""

import numpy as np
import pytest
import scipy.sparse as sp

from unrelu.errors import InputError
from unrelu.inputs import read_values


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
@pytest.mark.parametrize("second", [1.0, 5.0])
def test_a_position_stored_twice_is_refused_rather_than_added_up(form, second):
    values, i, j = np.array([1.0, 1.0, second, 1.0, 1.0]), [0, 0, 0, 1, 2], [0, 1, 1, 1, 2]
    if form == "coo":
        twice = sp.coo_array((values, (i, j)), shape=(3, 3))
    else:  # as a program may build one by hand
        kind = {"csr": sp.csr_array, "csc": sp.csc_array}[form]
        twice = kind((values, j, [0, 3, 4, 5]), shape=(3, 3))
    where = r"\(1, 0\)" if form == "csc" else r"\(0, 1\)"
    with pytest.raises(InputError, match=rf"must store every entry once, got two or more values at {where}; keep one"):
        read_values(twice)
    assert twice.nnz == 5  # the caller's matrix is as it was


def test_entries_in_any_order_and_zeros_that_are_stored_are_no_repetition():
    stored = sp.csr_array((np.array([2.0, 0.0, 3.0]), [1, 0, 1], [0, 2, 3]), shape=(2, 2))
    data, labels = read_values(stored)
    assert labels is None
    assert data.nnz == 3
    np.testing.assert_array_equal(data.toarray(), [[0.0, 2.0], [0.0, 3.0]])
