//! LLaMA-family training in burn: full and LoRA fine-tuning, checkpoints, metrics
