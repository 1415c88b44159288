//! `--ranker`: what ranks relations, and whether a model was trained under the same.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use infer::engine::encoder::Encoder;
use infer::ranker::{EncoderRanker, MixedRanker};
use model::KgAgentInfo;
use toolbox::rank::{self, Ranker};

use crate::cli::RankingArgs;

/// The ranker that was asked for.
pub(crate) fn open(args: &RankingArgs) -> Result<Arc<dyn Ranker>> {
    if let Some(known) = rank::by_name(&args.ranker) {
        return Ok(known);
    }
    let (mixed, folder) = match args.ranker.strip_prefix("lexical+") {
        Some(folder) => (true, folder),
        None => (false, args.ranker.as_str()),
    };
    let vectors = args.vectors.clone().or_else(cache_folder);
    let Some(vectors) = vectors else {
        bail!(
            "neither XDG_CACHE_HOME nor HOME is set; say with --vectors where an encoder's vectors are kept"
        )
    };
    let encoder = Encoder::open(Path::new(folder), Some(&vectors)).with_context(|| {
        format!("cannot open the encoder {folder} (--ranker is lexical, shuffled, an encoder's folder, or lexical+DIR)")
    })?;
    let ranker = EncoderRanker::new(encoder);
    Ok(if mixed {
        Arc::new(MixedRanker::new(ranker))
    } else {
        Arc::new(ranker)
    })
}

fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("kgagent").join("vectors"))
}

/// What to say on the command line for the ranker of this name. An encoder is named by its content; where it lies only the user knows.
pub(crate) fn wanted(name: &str) -> String {
    match name.strip_prefix("lexical+") {
        _ if rank::by_name(name).is_some() => format!("give --ranker {name}"),
        Some(_) => "give --ranker lexical+DIR with that encoder's folder".to_owned(),
        None => "give --ranker DIR with that encoder's folder".to_owned(),
    }
}

/// A line of warning where a model saw lists in another ranker's order: it was trained to trust the order it saw.
pub(crate) fn mismatch(ranker: &dyn Ranker, info: &KgAgentInfo) -> Option<String> {
    let (ours, theirs) = (ranker.name(), &info.ranker);
    (!theirs.is_empty() && *theirs != ours)
        .then(|| format!("the model was trained on lists ranked by `{theirs}`, and these are ranked by `{ours}`; see --ranker"))
}
