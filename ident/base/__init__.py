"""The minimal parameter set: which combinations of parameters a motion can show at all."""
