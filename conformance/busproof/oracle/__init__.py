"""What knows what is right: a model is a whole system, executable; a check judges a recorded history."""
