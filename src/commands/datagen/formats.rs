//! `kgagent datagen formats`: the formats of question sets.

use anyhow::Result;
use datagen::read::{ReadOptions, SourceFormat, readers};
use serde_json::json;

use crate::exit::ExitStatus;
use crate::ui::Ui;

pub(crate) fn run(ui: &Ui) -> Result<ExitStatus> {
    let all = readers(&ReadOptions::default());
    let object = |format: &SourceFormat| {
        let options = format.options.iter();
        let options: Vec<_> = options
            .map(|(name, about)| json!({ "name": name, "about": about }))
            .collect();
        json!({
            "format": format.name, "about": format.about, "needs": format.needs,
            "folder": format.folder, "example": format.example, "options": options,
            "gold_queries": format.queries,
        })
    };
    let objects: Vec<_> = all.iter().map(|reader| object(reader.format())).collect();
    ui.object(&json!({ "formats": objects }));
    for format in all.iter().map(|reader| reader.format()) {
        let queries = if format.queries {
            ""
        } else {
            " (answers only: for eval)"
        };
        ui.say(format!("{}={}{queries}", format.name, format.about));
        ui.say(format!("    {}", format.needs));
        for (name, about) in format.options {
            ui.say(format!("    {}:{name}=…  {about}", format.name));
        }
        for line in format.example.lines() {
            ui.say(format!("    {line}"));
        }
    }
    Ok(ExitStatus::Done)
}
