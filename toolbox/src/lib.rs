//! Knowledge graph access, the call language, the 13 tools, transcripts, traces, answers and metrics
