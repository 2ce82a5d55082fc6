"""How it is learnt: batches, the network in torch, its training, and the rankers over what readings turn out to be.

From outside: batches, judged, learn, rank, results_judged.
"""
