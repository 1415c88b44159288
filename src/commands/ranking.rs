//! `--ranker`: opens rankers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use infer::engine::encoder::{CrossEncoder, Encoder};
use infer::ranker::{EncoderRanker, MixedRanker, ProgramRanker};
use toolbox::rank::{self, Ranker};

use crate::cli::RankingArgs;

/// Opens the requested ranker.
pub(super) fn open(args: &RankingArgs) -> Result<Arc<dyn Ranker>> {
    if let Some(known) = rank::by_name(&args.ranker) {
        return Ok(known);
    }
    let folder = Path::new(&args.ranker);
    if CrossEncoder::is_folder(folder) {
        let scorer = CrossEncoder::open(folder)
            .with_context(|| format!("cannot open the ranker {}", folder.display()))?;
        return Ok(Arc::new(ProgramRanker::new(scorer)));
    }
    let (mixed, folder) = match args.ranker.strip_prefix("lexical+") {
        Some(folder) => (true, folder),
        None => (false, args.ranker.as_str()),
    };
    let vectors = args.vectors.clone().or_else(cache_folder).context(
        "neither XDG_CACHE_HOME nor HOME is set; name a cache folder for the encoder's vectors \
         with --vectors",
    )?;
    let encoder = Encoder::open(Path::new(folder), Some(&vectors)).with_context(|| {
        format!(
            "cannot open the encoder {folder} (--ranker is lexical, shuffled, an encoder's folder, \
             or lexical+DIR)"
        )
    })?;
    let ranker = EncoderRanker::new(encoder);
    Ok(if mixed {
        Arc::new(MixedRanker::new(ranker))
    } else {
        Arc::new(ranker)
    })
}

pub(super) fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("kgagent").join("vectors"))
}

/// The option that selects the ranker of this name. An encoder is named by its content; only the
/// user knows its folder.
pub(super) fn option_for(name: &str) -> String {
    match name.strip_prefix("lexical+") {
        _ if rank::by_name(name).is_some() => format!("give --ranker {name}"),
        Some(_) => "give --ranker lexical+DIR with that encoder's folder".to_owned(),
        None => "give --ranker DIR with that encoder's folder".to_owned(),
    }
}
