//! LLaMA-family inference in candle, constrained decoding and the agents
