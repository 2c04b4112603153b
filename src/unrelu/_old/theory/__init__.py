"""The paper's conditions and theorems, computed."""
