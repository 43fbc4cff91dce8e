"""`swarm run`: a broker, a process for each member, and the result."""
