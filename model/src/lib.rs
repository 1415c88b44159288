//! Model folders, tokenizers, chat format and loss mask: what training and inference share
