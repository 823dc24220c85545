"""Studies of finished runs that go beyond their scores: hidden states of stored responses, contamination."""
