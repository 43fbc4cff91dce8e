"""What tests share: rooms, logs, servers, minds that misbehave, time that does not pass, and the fixtures."""
