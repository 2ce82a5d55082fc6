"""Lowering: a graph of ATen ops becomes GIR (`lower`), by what each op says (`aten_ops`)."""
