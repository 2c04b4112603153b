"""On which device a matrix is completed: tensors and ``device=``, and what each of them says."""

import weakref

import numpy as np
import pytest
import scipy.sparse

import unrelu
from unrelu import CompletionWarning, InputError, Limits, OneSided
from unrelu._old.data.observations import Observations
from unrelu._old.data.tensor_source import ByBlocks, TensorSource, tensor_checked
from unrelu._old.results.tensors import TensorCompletion, in_memory
from unrelu._old.scale import devices

torch = pytest.importorskip("torch")

from unrelu._old.kernels.device.kernel import DeviceKernel
from unrelu._old.kernels.device.undisturbed import undisturbed


def instance(n=60, rank=2, dtype=np.float64, table=False):
    rng = np.random.default_rng(3)
    left = rng.standard_normal((n, rank))
    right = rng.standard_normal((n // 2, rank)) if table else left
    M = left @ right.T
    return M, np.where(M >= 0, M, np.nan).astype(dtype)


class TestTensors:
    def test_tensors_in_give_tensors_out(self):
        M, X = instance()
        found = unrelu.complete(torch.as_tensor(X), 2, rng=0)
        assert isinstance(found, TensorCompletion)
        assert found.factor.dtype == torch.float64
        assert float((found.matrix() - torch.as_tensor(M)).abs().max()) < 1e-8
        assert np.array_equal(found.numpy().factor, unrelu.complete(X, 2, rng=0).factor)
        assert torch.equal(found.filled(), torch.as_tensor(found.numpy().filled()))

    def test_tables_too(self):
        M, X = instance(table=True)
        found = unrelu.complete_rectangular(torch.as_tensor(X), 2, rng=0)
        assert tuple(found.matrix().shape) == M.shape
        assert float((found.matrix() - torch.as_tensor(M)).abs().max()) < 1e-8

    def test_the_tensor_is_not_changed_and_needs_no_gradient(self):
        _, X = instance()
        given = torch.as_tensor(X).requires_grad_()
        before = given.detach().clone()
        unrelu.complete(given, 2, rng=0)
        assert torch.equal(torch.nan_to_num(given.detach()), torch.nan_to_num(before))

    def test_half_precision_is_converted_and_said(self):
        _, X = instance()
        with pytest.warns(UserWarning, match=r"half precision, torch\.float16.*computed in float32"):
            found = tensor_checked(torch.as_tensor(X).to(torch.float16))
        assert found.dtype == torch.float32

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            (torch.zeros((2, 2), dtype=torch.complex64), "must be real"),
            (torch.zeros((2, 2), dtype=torch.bool), "is this the mask"),
            (torch.eye(2).to_sparse(), "must be a dense tensor"),
            (torch.zeros((2, 2), device="meta"), "on the device meta, where tensors have no values"),
            (torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged), "got a nested one; use X.to_padded"),
        ],
    )
    def test_what_holds_no_numbers_is_refused(self, values, words):
        with pytest.raises(InputError, match=words):
            unrelu.complete(values, 1)

    def test_a_source_of_tensors_takes_nothing_else(self):
        with pytest.raises(
            InputError, match="TensorSource takes a tensor of PyTorch, got ndarray; pass it as X itself"
        ):
            TensorSource(np.eye(2))

    def test_half_precision_is_said_once(self):
        _, X = instance()
        with pytest.warns(CompletionWarning) as said:
            unrelu.complete(torch.as_tensor(X).to(torch.float16), 2, rng=0).filled()
        assert sum("half precision" in str(one.message) for one in said) == 1

    def test_views_that_are_not_made_yet(self):
        M, X = instance()
        found = unrelu.complete(torch._neg_view(-torch.as_tensor(X)), 2, rng=0)
        assert float((found.matrix() - torch.as_tensor(M)).abs().max()) < 1e-8

    def test_limits_may_be_tensors(self):
        M, X = instance()
        limits = unrelu.Limits(high=torch.zeros((60, 1), dtype=torch.float64))
        found = unrelu.complete(torch.as_tensor(X), 2, threshold=limits, rng=0)
        assert float((found.matrix() - torch.as_tensor(M)).abs().max()) < 1e-8

    def test_a_mask_of_numbers_is_named_as_it_came(self):
        _, X = instance()
        with pytest.raises(InputError, match="uint8"):
            unrelu.complete(torch.as_tensor(X), 2, unknown=torch.zeros((60, 60), dtype=torch.uint8))

    def test_integers_become_doubles(self):
        assert tensor_checked(torch.ones((2, 2), dtype=torch.int32)).dtype == torch.float64

    def test_tensors_on_different_devices(self):
        _, X = instance()
        with pytest.raises(InputError, match=r"X and weights must be on one device, got cpu and meta"):
            unrelu.complete(torch.as_tensor(X), 2, weights=torch.ones((60, 60), device="meta"))

    def test_an_earlier_answer_is_a_start(self):
        _, X = instance()
        first = unrelu.complete(torch.as_tensor(X), 2, rng=0)
        assert in_memory(first) is first.numpy()
        again = unrelu.complete(torch.as_tensor(X), 2, start=first, method="gauss-newton")
        assert float((again.matrix() - first.matrix()).abs().max()) < 1e-8

    def test_a_proof_takes_an_answer_in_tensors(self):
        _, X = instance()
        found = unrelu.complete(torch.as_tensor(X), 2, rng=0)
        proof, other = unrelu.certify(found), unrelu.certify(found.numpy())
        assert (proof.kind, proof.bound) == (other.kind, other.bound)

    @pytest.mark.parametrize("seed", range(12))
    def test_an_answer_knows_its_matrix_again_whoever_adds_it_up(self, seed):
        U = np.random.default_rng(seed).standard_normal((150, 3))
        X = np.where(U @ U.T >= 0, U @ U.T, np.nan)
        for given in (torch.as_tensor(X), TensorSource(torch.as_tensor(X))):
            found = unrelu.complete(given, 3, rng=0)
            assert not np.isnan(np.asarray(found.filled())).any()
            with pytest.raises(InputError, match="has changed since"):
                found.numpy().filled(X * (1 + 1e-6)) if hasattr(found, "numpy") else found.filled(X * (1 + 1e-6))

    def test_what_a_caller_has_set_for_pytorch_changes_nothing(self):
        _, X = instance(150, dtype=np.float32)
        source = TensorSource(torch.as_tensor(X))
        U = np.random.default_rng(0).standard_normal((150, 2)).astype(np.float32)
        kernel = DeviceKernel(Observations(source, Limits(high=0.0)), OneSided())
        value, gradient, _ = kernel.evaluate(U)
        before = torch.get_default_dtype()
        try:
            torch.set_default_dtype(torch.float64)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                other = kernel.evaluate(U)
        finally:
            torch.set_default_dtype(before)
        assert other[0] == value
        assert np.array_equal(np.asarray(other[1]), np.asarray(gradient))

    @pytest.mark.parametrize("said", ["nothing", "high", "tf32"])
    def test_settings_of_products_agree_within_and_are_as_before_afterwards(self, said):
        """PyTorch refuses to multiply where its old setting and its new ones disagree."""
        products = torch.backends.cuda.matmul
        if not hasattr(products, "fp32_precision") and said == "tf32":
            pytest.skip("this PyTorch has one setting")

        def settings():
            try:
                old = torch.get_float32_matmul_precision()
            except RuntimeError:
                old = "disagrees"
            places = (products, getattr(torch.backends.mkldnn, "matmul", None))
            return old, [getattr(one, "fp32_precision", None) for one in places]

        began = settings()
        try:
            if said == "high":
                torch.set_float32_matmul_precision("high")
            elif said == "tf32":
                products.fp32_precision = "tf32"
            before = settings()
            with undisturbed():
                assert products.allow_tf32 is False
                assert torch.get_float32_matmul_precision() == "highest"
            assert settings() == before
        finally:
            torch.set_float32_matmul_precision("highest")
            for one, precision in zip((products, torch.backends.mkldnn.matmul), began[1], strict=True):
                one.fp32_precision = precision
        assert settings() == began

    @pytest.mark.parametrize("method", ["gauss-newton", "gradient-descent", "scaled-gd", "pam", "gnmr"])
    def test_small_problems_are_solved_there_too(self, method):
        _, X = instance(40)
        found = unrelu.complete(TensorSource(torch.as_tensor(X)), 2, method=method, max_iter=300, rng=0)
        assert found.verdict.reason.endswith("in float64")

    def test_noise_and_a_small_problem(self):
        rng = np.random.default_rng(1)
        for seed in range(4):
            U = np.random.default_rng(seed).standard_normal((60, 3))
            M = U @ U.T + 0.1 * rng.standard_normal((60, 60))
            found = unrelu.complete(TensorSource(torch.as_tensor(np.where(M >= 0, M, np.nan))), 3, rng=0)
            assert found.verdict.code.value in ("fitted-to-noise", "stationary")

    def test_a_summary_is_what_a_scan_in_memory_finds(self):
        _, X = instance(70)
        X[3, 5] = np.nan  # of one half only
        told = TensorSource(torch.as_tensor(X)).summary()
        seen = ~np.isnan(X)
        assert np.array_equal(told.per_row, seen.sum(1))
        assert np.array_equal(told.per_column, seen.sum(0))
        assert told.norm == pytest.approx(np.sqrt(np.nansum(X**2)), rel=1e-14)
        assert (told.low, told.high) == (np.nanmin(X), np.nanmax(X))


class TestAsked:
    def test_cuda_that_is_absent(self, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(InputError, match=r"device='cuda' was asked for, but PyTorch .* sees no CUDA device here"):
            unrelu.complete(instance()[1], 2, device="cuda")

    def test_a_device_with_too_high_a_number(self, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
        with pytest.raises(InputError, match="PyTorch sees 2 CUDA devices, counted from 0"):
            unrelu.complete(instance()[1], 2, device="cuda:2")

    @pytest.mark.parametrize("device", ["gpu", 3.5, "meta"])
    def test_no_device(self, device):
        with pytest.raises(InputError, match="device must be 'cpu'"):
            unrelu.complete(instance()[1], 2, device=device)

    def test_without_torch_that_is_said(self, monkeypatch):
        monkeypatch.setattr(devices, "find_spec", lambda name: None)
        with pytest.raises(InputError, match=r"needs PyTorch, which is not installed; .*unrelu\[torch\]"):
            unrelu.complete(instance()[1], 2, device="cuda")

    def test_tensors_beside_an_array_are_numbers(self):
        _, X = instance()
        for threshold in (torch.tensor(0.0), torch.zeros(60, 1, requires_grad=True), (torch.tensor(-9.0), 0.0)):
            seen = {"seen": "outside"} if isinstance(threshold, tuple) else {}
            for given in (X, torch.as_tensor(X)):
                found = unrelu.complete(given, 2, threshold=threshold, rng=0, **seen)
                assert tuple(found.factor.shape) == (60, 2)
        with pytest.raises(InputError, match="weights must be a dense tensor"):
            unrelu.complete(X, 2, weights=torch.ones((60, 60)).to_sparse())

    def test_a_proof_of_a_table_takes_an_answer_in_tensors(self):
        _, X = instance(table=True)
        found = unrelu.complete_rectangular(torch.as_tensor(X), 2, rng=0)
        assert str(unrelu.certify_rectangular(found)) == str(unrelu.certify_rectangular(found.numpy()))


class TestRoom:
    @pytest.mark.parametrize(("share", "fits"), [(0.78, True), (0.82, False)])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
    def test_a_matrix_may_take_most_of_what_is_free_and_no_more(self, share, fits, dtype, monkeypatch):
        """What PyTorch has reserved and does not use is free as well; integers are computed in doubles."""
        X = np.zeros((100, 50), dtype)
        free = 5000 * (4 if dtype is np.float32 else 8) / share
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda index: (0.5 * free, 10 * free))
        monkeypatch.setattr(torch.cuda, "memory_reserved", lambda index: free)
        monkeypatch.setattr(torch.cuda, "memory_allocated", lambda index: 0.5 * free)
        assert devices._fits(X, 0) is fits


class TestWhoDidIt:
    @pytest.mark.parametrize("kind", ["tensor", "dask"])
    def test_a_small_matrix_that_comes_into_memory_is_numpys_work(self, kind):
        """The order of the rows is made alike first, and a small matrix comes here for that."""
        rng = np.random.default_rng(0)
        U, noise = rng.standard_normal((120, 2)), 0.1 * rng.standard_normal((120, 120))
        M = U @ U.T + noise + noise.T
        X = np.where(M >= 0, M, np.nan)
        if kind == "dask":
            there = unrelu.DaskSource(pytest.importorskip("dask.array").from_array(X, chunks=50))
        else:
            there = TensorSource(torch.as_tensor(X))
        found = unrelu.complete(there, 2, rng=0)
        who = {"tensor": "PyTorch on cpu in float64", "dask": "dask in threads in float64"}[kind]
        assert found.verdict.reason.endswith(f"; by {who} and NumPy in float64")
        assert "by NumPy" not in unrelu.complete(X, 2, rng=0).verdict.reason


class TestOutOfMemory:
    def test_blocks_go_there_instead_and_that_is_said(self, monkeypatch):
        M, X = instance()
        met = []

        def complete(values, rank=None, **options):
            met.append(type(values))
            if len(met) == 1:
                raise torch.OutOfMemoryError("no room")
            return unrelu.complete(values, rank, **options)

        monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
        call = devices._Call(complete, X, dict(rank=2, rng=0), table=False)
        there = devices._There(TensorSource(torch.as_tensor(X)))
        found = call._solved(there, call.options)
        assert met == [TensorSource, ByBlocks]
        assert there.why == "cpu ran out of memory, so that blocks went there in each pass"
        assert np.abs(found.matrix() - M).max() < 1e-8

    def test_what_failed_is_let_go_before_it_is_tried_again(self, monkeypatch):
        _, X = instance()
        alive = []

        def complete(values, rank=None, **options):
            if not alive:
                alive.append(weakref.ref(values))
                raise torch.OutOfMemoryError("no room")
            return unrelu.complete(values, rank, **options)

        monkeypatch.setattr(torch.cuda, "empty_cache", lambda: alive.append(alive[0]()))
        call = devices._Call(complete, X, dict(rank=2, rng=0), table=False)
        call._solved(devices._There(TensorSource(torch.as_tensor(X))), call.options)
        assert alive[1] is None

    def test_a_small_matrix_stays_in_memory(self):
        _, X = instance()
        there = devices._Call(unrelu.complete, X, {}, table=False)._source(devices.Choice(torch.device("meta")))
        assert there.values is X  # a data frame with its labels
        assert there.why == "60×60 entries stayed in memory, which is quicker"

    def test_a_sparse_matrix_goes_there_by_blocks_and_that_is_said(self, monkeypatch):
        monkeypatch.setattr(devices, "SMALL", 10)
        call = devices._Call(unrelu.complete, scipy.sparse.eye_array(60).tocsr(), {}, table=False)
        there = call._source(devices.Choice(torch.device("meta")))
        assert isinstance(there.values, ByBlocks)
        assert there.why == "blocks of the sparse matrix go to meta in each pass"

    def test_a_matrix_that_does_not_fit_goes_there_by_blocks(self, monkeypatch):
        monkeypatch.setattr(devices, "SMALL", 10)
        _, X = instance()
        call = devices._Call(unrelu.complete, X, {}, table=False)
        there = call._source(devices.Choice(torch.device("meta"), fits=False))
        assert isinstance(there.values, ByBlocks)
        assert there.why == "the matrix does not fit on meta, so that blocks go there in each pass"
