"""Containers and syntaxes that several readers share, and the neutral file `leafgate/model/1` (`native`).

`json`, `zip`, `objects` and `pickles` parse untrusted bytes within bounds of memory and depth. `native_unread` records
what of a neutral file is not part of the model.
"""
