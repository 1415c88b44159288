//! What a model has learned besides its weights, from the files in its folder.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use common::wordings::Wordings;
use model::files;
use toolbox::explain::WordTables;

use crate::InferError;

/// The wordings of the training data of a model.
pub(super) fn wordings_of(model: &Path) -> Result<Option<Arc<Wordings>>, InferError> {
    let wordings = Wordings::of_folder(files::folder_of(model));
    let wordings = wordings.map_err(|error| InferError::Words {
        path: error.path,
        message: error.source.to_string(),
    })?;
    Ok(wordings.map(Arc::new))
}

/// The translation tables of the program and of the training data of a model folder, or of the folder
/// of a GGUF file.
///
/// # Errors
/// [`InferError::Words`] if the folder's file is damaged or cannot be read.
pub fn words_of(model: &Path) -> Result<Arc<WordTables>, InferError> {
    let path = files::folder_of(model).join(files::WORDS);
    let damaged = |message: String| InferError::Words {
        path: path.clone(),
        message,
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(WordTables::base()),
        Err(error) => return Err(damaged(error.to_string())),
    };
    WordTables::base_with(&text).map_err(|error| damaged(error.to_string()))
}
