"""What can be measured: entries of methods, and which kernel each of them is. Loads without torch.

From outside: grouped, grouped_methods, grouped_models, identity, method, own, packages, readers; rooms below say
their own.
"""
