"""The neutral file `leafgate/model/1` (`native`), what of it is no part of the model (`native_unread`), and pickles."""
