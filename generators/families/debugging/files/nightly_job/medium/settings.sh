MINIMUM={minimum}
