//! Fetching a model from the Hugging Face hub into its standard cache: the only module of this crate that opens a connection.

use std::path::PathBuf;

use hf_hub::api::sync::ApiBuilder;
use serde_json::Value;

use crate::ModelError;

/// Fetch the files of `repo` (`ORG/NAME`) this program reads; returns the folder in the cache.
///
/// # Errors
/// When the name is no repository name, or the hub does not deliver.
pub fn fetch(repo: &str) -> Result<PathBuf, ModelError> {
    let failed = |message: String| ModelError::Hub { repo: repo.to_owned(), message };
    let plain =
        |part: &str| !part.is_empty() && !part.contains("..") && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !repo.split_once('/').is_some_and(|(org, name)| plain(org) && plain(name)) {
        return Err(failed("not of the form ORG/NAME".to_owned()));
    }
    let api = ApiBuilder::new().with_progress(false).build().map_err(|error| failed(error.to_string()))?.model(repo.to_owned());
    let get = |file: &str| api.get(file).map_err(|error| failed(format!("{file}: {error}")));
    let config = get("config.json")?;
    get("tokenizer.json")?;
    // Small extras that not every repository has.
    for file in ["tokenizer_config.json", "generation_config.json", "README.md", "kgagent.json"] {
        let _ = api.get(file);
    }
    if let Ok(index) = api.get("model.safetensors.index.json") {
        let value = crate::folder::read_json(&index)?;
        let shards = value.get("weight_map").and_then(Value::as_object).into_iter().flat_map(|map| map.values()).filter_map(Value::as_str);
        let mut names: Vec<&str> = shards.collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            get(name)?;
        }
    } else {
        get("model.safetensors")?;
    }
    config.parent().map(PathBuf::from).ok_or_else(|| failed("the cache gave a file without a folder".to_owned()))
}

/// The folder of `repo` (`ORG/NAME`) in the standard cache (`HF_HOME`), if it has been fetched. Opens no connection.
#[must_use]
pub fn cached(repo: &str) -> Option<PathBuf> {
    let named = repo.split_once('/').is_some_and(|(org, name)| !org.is_empty() && !name.is_empty() && !name.contains('/'));
    let config = named.then(|| hf_hub::Cache::from_env().model(repo.to_owned()).get("config.json"))??;
    config.parent().map(PathBuf::from)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    #[test]
    fn names_that_are_no_repository_are_refused_before_any_connection() {
        for name in ["", "a", "a/", "../x", "a/b/c", "a/..", "a b/c"] {
            assert!(super::fetch(name).unwrap_err().to_string().contains("ORG/NAME"), "{name}");
        }
    }
}
