"""The neutral file `leafgate/model/1` (`native`) and what of it is no part of the model (`native_unread`)."""
